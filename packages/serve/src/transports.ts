/** The transports of a server: given, from a module, or the default ones. */
import { pathToFileURL } from "node:url";
import { TesseractError, type Transports } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";

/**
 * Transports, or the module whose default export they are, or a function that returns them. A module can be given to
 * worker processes as well.
 */
export type TransportsOption = Transports | string | URL;

export const isModule = (given: TransportsOption): given is string | URL =>
  typeof given === "string" || given instanceof URL;

/** @throws TesseractError LOAD_FAILED */
export async function transportsOf(given: TransportsOption | undefined): Promise<Transports> {
  if (given === undefined) return [host()];
  if (!isModule(given)) return given;
  const url = moduleUrl(given);
  let exported: unknown;
  try {
    exported = ((await import(url)) as { readonly default?: unknown }).default;
    if (typeof exported === "function") exported = await exported();
  } catch (error) {
    throw new TesseractError("LOAD_FAILED", `The transports can't be loaded from ${url}: ${String(error)}`, {
      cause: error,
    });
  }
  if (Array.isArray(exported)) return exported as Transports;
  throw new TesseractError("LOAD_FAILED", `The default export of ${url} is no list of transports`, {
    hint: "Write: export default [cudaIpc(), host()];",
  });
}

export function moduleUrl(given: string | URL): string {
  if (given instanceof URL) return given.href;
  return /^(file|data|node):/.test(given) ? given : pathToFileURL(given).href;
}
