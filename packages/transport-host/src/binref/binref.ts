/** The transport `binref` where there are no files, as in a browser. */
import { TesseractError } from "@tesseract-ts/core";
import type { BinrefOptions, FileTransport } from "./options.js";

/** It can't be used, and says so. */
export function binref(_options: BinrefOptions = {}): FileTransport {
  const reason = "there are no files here";
  const refuse = async (): Promise<never> => {
    throw new TesseractError("UNSUPPORTED_PLATFORM", `The transport "binref" can't be used: ${reason}`);
  };
  const transport: FileTransport = {
    name: "binref",
    carries: "host",
    reach: "host",
    sends: false,
    probe: async () => ({ ok: false, reason, hint: "Use base64() instead." }),
    encode: refuse,
    decode: refuse,
    atServer: () => transport,
  };
  return transport;
}
