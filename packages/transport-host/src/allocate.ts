/** Memory for arrays. */

import { TesseractError } from "@tesseract-ts/core";
import { uninitialized } from "#base64";

/**
 * Memory whose every byte the caller writes before anyone else sees it: it isn't cleared.
 *
 * @param path where in the message its array stands
 * @throws TesseractError DECODE_FAILED, where there isn't that much memory
 */
export function allocate(bytes: number, path: string): Uint8Array<ArrayBuffer> {
  try {
    return uninitialized(bytes);
  } catch (error) {
    throw new TesseractError("DECODE_FAILED", `${path}: there is no memory for an array of ${bytes} bytes`, {
      cause: error,
    });
  }
}
