/** The ports that a server may be started on. */
import { createServer } from "node:net";
import { TesseractError } from "@tesseract-ts/core";

/** How often another free port is tried, when one turns out to be taken. */
const MOST_ATTEMPTS = 10;

export type PortChoice =
  | { readonly kind: "any" }
  | { readonly kind: "one"; readonly port: number }
  | { readonly kind: "range"; readonly from: number; readonly to: number };

/** @throws TesseractError INVALID_ARGUMENT */
export function portChoiceOf(given: number | string | undefined): PortChoice {
  const text = String(given ?? 0).trim();
  const [, first = "", last] = /^(\d{1,5})(?:\s*-\s*(\d{1,5}))?$/.exec(text) ?? [];
  const from = Number(first);
  const to = last === undefined ? from : Number(last);
  if (first === "" || to > 65535 || to < from || (from === 0 && last !== undefined)) {
    throw new TesseractError("INVALID_ARGUMENT", `"${text}" is no port`, {
      hint: 'Give a number up to 65535, a range such as "8000-8100", or 0 for any free one.',
    });
  }
  if (last !== undefined) return { kind: "range", from, to };
  return from === 0 ? { kind: "any" } : { kind: "one", port: from };
}

/** Those that starts of this process are at, or that its servers have. */
const inUse = new Set<number>();

export const releasePort = (port: number): void => {
  inUse.delete(port);
};

/**
 * Ports that are free at the moment, one after the other, each taken until it is released.
 *
 * @throws TesseractError INVALID_ARGUMENT if the host can't be listened on
 */
export async function* freePorts(host: string, choice: PortChoice): AsyncGenerator<number> {
  if (choice.kind === "any") {
    for (let attempt = 0; attempt < MOST_ATTEMPTS; ) {
      const port = await listenOnce(host, 0);
      if (port === undefined || inUse.has(port)) continue;
      inUse.add(port);
      attempt += 1;
      yield port;
    }
    return;
  }
  const [from, to] = choice.kind === "one" ? [choice.port, choice.port] : [choice.from, choice.to];
  for (let port = from; port <= to; port++) {
    if (inUse.has(port)) continue;
    inUse.add(port);
    // Taken from now on, so that no other start looks at it meanwhile.
    const isFree = await listenOnce(host, port).catch((error) => {
      inUse.delete(port);
      throw error;
    });
    if (isFree === undefined) inUse.delete(port);
    else yield port;
  }
}

/** A port that is free at the moment, on loopback, and not kept for anyone. */
export const freePort = async (): Promise<number> => (await listenOnce("127.0.0.1", 0)) ?? 0;

/** @returns the port, undefined if it is taken */
function listenOnce(host: string, port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") resolve(undefined);
      else {
        const hint = port > 0 && port < 1024 ? "Ports below 1024 are the administrator's: take another." : undefined;
        const message = `${host}:${port} can't be listened on: ${error.message}`;
        reject(new TesseractError("INVALID_ARGUMENT", message, { cause: error, hint }));
      }
    });
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" ? address?.port : undefined));
    });
  });
}
