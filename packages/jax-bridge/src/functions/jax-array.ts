/** jax-js arrays of arrays in the host's memory. */
import { type HostArray, hostArray, isHostArray, type NestedList, type TypedArray } from "@tesseract-ts/core";
import { jaxFromHost } from "../arrays/convert.js";
import { type JaxArray, loadJax } from "../jax.js";

/**
 * A jax-js array with the elements of a typed array, a `HostArray` or nested lists of numbers, in their dtype: lists of
 * numbers are float64. It is the caller's; the elements are copied.
 *
 * It works for float64 on every platform; jax-js's own `np.array` needs `Float16Array` for it, which Node 20 and 22 lack.
 *
 * @throws TesseractError UNSUPPORTED_DTYPE for a dtype that jax-js lacks, INVALID_ARRAY
 *
 * @example
 * const x = await jaxArray(new Float64Array([1, 2, 3]));
 */
export async function jaxArray(values: HostArray | TypedArray | NestedList): Promise<JaxArray> {
  await loadJax();
  return jaxFromHost(isHostArray(values) ? values : hostArray(values));
}
