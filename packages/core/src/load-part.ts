/** Loads the parts of this package that most programs never need, when they are needed. */
import { type ErrorDetails, TesseractError } from "./errors.js";

/**
 * @param load an `import()`, which gives the same module each time
 * @param details what the error says beside, if there is one
 * @throws TesseractError LOAD_FAILED
 */
export async function loadPart<T>(load: () => Promise<T>, details?: ErrorDetails): Promise<T> {
  try {
    return await load();
  } catch (cause) {
    throw new TesseractError("LOAD_FAILED", `A part of @tesseract-ts/core can't be loaded: ${String(cause)}`, {
      hint: "Serve all files that the program was built into, or build it into one; a service worker can load no others.",
      ...details,
      cause,
    });
  }
}
