/** A library's own names of element types. */
import type { DType } from "../arrays/dtype.js";
import { TesseractError } from "../errors.js";

/**
 * The dtype that a library's array has.
 *
 * @param array what it is, for the message: `A TensorFlow.js tensor`
 * @throws TesseractError UNSUPPORTED_DTYPE, if `names` doesn't have its name
 */
export function dtypeNamed(name: string, names: ReadonlyMap<string, DType>, array: string): DType {
  const dtype = names.get(name);
  if (dtype !== undefined) return dtype;
  throw new TesseractError("UNSUPPORTED_DTYPE", `${array} has elements of type ${JSON.stringify(name)}`, {
    hint:
      name === "string"
        ? "Send strings as a plain list of them."
        : `Convert it first; what can be sent is ${[...names.keys()].join(", ")}.`,
  });
}
