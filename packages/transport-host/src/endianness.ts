/** Arrays are little-endian on the wire, and typed arrays are as the machine is. */
import { type ProbeResult, TesseractError } from "@tesseract-ts/core";

/** `words` is there for tests: the machine's own bytes of a word whose lowest byte is 1. */
export const endianness = (words = new Uint16Array([1])): ProbeResult =>
  new Uint8Array(words.buffer)[0] === 1
    ? { ok: true }
    : {
        ok: false,
        reason: "this machine is big-endian, and arrays are little-endian on the wire",
        hint: "Run the program on a little-endian machine.",
      };

/** A machine stays as it is, and each call asks. */
const own = endianness();

/** @throws TesseractError UNSUPPORTED_PLATFORM */
export function refuseBigEndian(found = own): void {
  if (!found.ok)
    throw new TesseractError("UNSUPPORTED_PLATFORM", `Arrays can't be sent from here: ${found.reason}`, {
      hint: found.hint,
    });
}
