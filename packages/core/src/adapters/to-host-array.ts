/** From any array to a host array. */
import { asCudaArray } from "../arrays/cuda-array.js";
import type { TypedArray } from "../arrays/dtype.js";
import { checkHostArray, type HostArray, hostArray, isHostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { ArrayAdapter } from "./adapter.js";
import { builtinAdapters } from "./builtin.js";

/**
 * The elements of any array that a call takes, as a host array: a typed array, a GPU array, or an array of a library that
 * one of the adapters knows. It shares memory with what it was made of wherever that is in the host's memory and in C order;
 * docs/arrays.md has the cases.
 *
 * @throws TesseractError INVALID_ARRAY, UNSUPPORTED_DTYPE
 *
 * @example
 * const { dtype, shape, data } = await toHostArray(tf.tensor2d([[1, 2], [3, 4]]));
 */
export async function toHostArray(
  array: object,
  adapters: readonly ArrayAdapter[] = builtinAdapters,
): Promise<HostArray> {
  const host = await read(array, adapters);
  checkHostArray(host);
  return host;
}

function read(array: object, adapters: readonly ArrayAdapter[]): HostArray | Promise<HostArray> {
  if (ArrayBuffer.isView(array) && !(array instanceof DataView)) return hostArray(array as TypedArray);
  if (isHostArray(array)) return array;
  const cuda = asCudaArray(array);
  if (cuda?.copyToHost !== undefined) return cuda.copyToHost();
  for (const adapter of adapters) {
    const adapted = adapter.adapt(array);
    if (adapted !== undefined) return adapted.read();
  }
  throw new TesseractError("INVALID_ARRAY", "This is no array that can be read into the host's memory", {
    hint: `There are adapters for ${adapters.map(({ name }) => name).join(", ")}; hostArray() takes nested lists.`,
  });
}
