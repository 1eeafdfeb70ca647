/** An engine's command needs this process's environment: where its socket is, its configuration, its credentials. */
export const engineEnvironment = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined || name === "NODE_OPTIONS" ? [] : [[name, value]],
    ),
  );
