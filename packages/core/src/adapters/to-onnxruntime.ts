/** From host arrays to onnxruntime's tensors. */
import type { HostArray } from "../arrays/host-array.js";
import { unsupportedBy } from "./unsupported.js";

const types: ReadonlySet<string> = new Set([
  ...["float16", "float32", "float64", "int8", "int16", "int32", "int64"],
  ...["uint8", "uint16", "uint32", "uint64", "bool"],
]);

/**
 * An onnxruntime tensor over the array's own memory.
 *
 * @param Tensor of `onnxruntime-node`, `onnxruntime-web` or `onnxruntime-common`
 * @throws TesseractError UNSUPPORTED_DTYPE for complex dtypes
 *
 * @example
 * import { Tensor } from "onnxruntime-node";
 * const { y } = await session.run({ x: toOnnxruntime(x, Tensor) });
 */
export function toOnnxruntime<T>(
  { dtype, shape, data }: HostArray,
  Tensor: new (type: never, data: never, dims: readonly number[]) => T,
): T {
  if (!types.has(dtype)) throw unsupportedBy("onnxruntime", dtype, types);
  return new Tensor(dtype as never, data as never, [...shape]);
}
