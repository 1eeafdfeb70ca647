/** The error for a dtype that another library lacks. */
import type { DType } from "../arrays/dtype.js";
import { TesseractError } from "../errors.js";

/** Another library has no array of this dtype. */
export function unsupportedBy(library: string, dtype: DType, known: Iterable<string>): TesseractError {
  return new TesseractError("UNSUPPORTED_DTYPE", `${library} has no arrays of ${dtype}`, {
    hint: `Convert it first; it has ${[...known].join(", ")}.`,
  });
}
