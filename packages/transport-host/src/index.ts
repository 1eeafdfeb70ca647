import type { HostTransport } from "@tesseract-ts/core";
import { binref as binrefOfPlatform } from "#binref";
import { base64 } from "./base64/base64.js";
import type { BinrefOptions, FileTransport, ServerDirectories } from "./binref/options.js";
import { json } from "./json/json.js";

export type { BinrefOptions, FileTransport, HostTransport, ServerDirectories };
export { base64, json };

/** The transport `binref`, output format `json+binref`: arrays in files that both sides see. Not in browsers. */
export const binref: (options?: BinrefOptions) => FileTransport = binrefOfPlatform;

/**
 * All transports through the host's memory, in order of preference: `base64`, `json`, `binref`. GPU arrays go through
 * them by their `copyToHost()`.
 *
 * @example
 * await using heat = await fromUrl("http://localhost:8000", { transports: [host()] });
 */
export const host = (options: BinrefOptions = {}): readonly HostTransport[] => [base64(), json(), binref(options)];
