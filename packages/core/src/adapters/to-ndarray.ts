/** From host arrays to scijs' ndarrays. */
import type { HostArray } from "../arrays/host-array.js";
import { asFloat16Array } from "./float16-array.js";
import { unsupportedBy } from "./unsupported.js";

const numbers = ["float16 (where there is a Float16Array)", "float32", "float64", "int8 to int64", "uint8 to uint64"];

/**
 * A scijs ndarray over the array's own memory. ndarray has no booleans: they are `uint8` there.
 *
 * @param createView the default export of `ndarray`
 * @throws TesseractError UNSUPPORTED_DTYPE for complex dtypes, and for float16 on Node 20 and 22
 *
 * @example
 * import ndarray from "ndarray";
 * const matrix = toNdarray(x, ndarray);
 */
export function toNdarray<V>(array: HostArray, createView: (data: never, shape: number[]) => V): V {
  const { dtype, data, shape } = array;
  const view = dtype === "float16" ? asFloat16Array(data) : data;
  if (view === undefined || dtype === "complex64" || dtype === "complex128") {
    throw unsupportedBy("ndarray", dtype, numbers);
  }
  return createView(view as never, [...shape]);
}
