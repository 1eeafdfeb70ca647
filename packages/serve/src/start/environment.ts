/** The environment of a process that is started: this process's, and more. */

/** They speak of this process alone, or of the program that started it. */
const ownVariables = new Set(["NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE", "NODE_UNIQUE_ID"]);

export function environmentWith(
  more: Readonly<Record<string, string>> = {},
  without: readonly string[] = [],
): Readonly<Record<string, string>> {
  const left = Object.entries(process.env).flatMap(([name, value]) =>
    value === undefined || ownVariables.has(name) || without.includes(name) ? [] : [[name, value] as const],
  );
  return { ...Object.fromEntries(left), ...more };
}
