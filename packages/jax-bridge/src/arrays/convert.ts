/** Arrays between the host's memory and jax-js. */
import {
  elementCount,
  float16ToNumber,
  type HostArray,
  hostArray,
  isHostArray,
  makeHostArray,
  numberToFloat16,
  type TypedArray,
  viewAs,
} from "@tesseract-ts/core";
import { programError } from "../errors.js";
import { type JaxArray, jax } from "../jax.js";
import { isJaxDType, jaxDType } from "./aval.js";

export const asHostArray = (array: HostArray | TypedArray): HostArray =>
  isHostArray(array) ? array : hostArray(array);

/**
 * A jax-js array with the elements of an array in the host's memory, which are copied. It is the caller's.
 *
 * It also makes arrays of float64 where the platform has no `Float16Array` (Node 20 and 22), which jax-js itself can't
 * there.
 *
 * @throws TesseractError UNSUPPORTED_DTYPE for a dtype that jax-js lacks, INVALID_ARRAY
 *
 * @example
 * const x = jaxArray(new Float64Array([1, 2, 3]));
 */
export function jaxFromHost(array: HostArray): JaxArray {
  const { dtype, data } = array;
  const shape = [...array.shape];
  if (!isJaxDType(dtype)) throw unsupportedDType(dtype);
  const { numpy: np } = jax();
  if (elementCount(shape) === 0) return np.zeros(shape, { dtype: jaxDType(dtype) });
  try {
    switch (dtype) {
      case "bool":
        return np.array(Int32Array.from(data as Uint8Array), { shape, dtype: np.bool });
      case "float16":
        return np.array(Float32Array.from(data as Uint16Array, float16ToNumber), { shape }).astype(np.float16);
      case "float64":
        return withFloat16Array(() => np.array(data as Float64Array, { shape }));
      default:
        return np.array(data as Float32Array | Int32Array | Uint32Array, { shape });
    }
  } catch (error) {
    throw programError("UNSUPPORTED_DTYPE", `jax-js can't hold an array of ${dtype} on its device: ${String(error)}`, {
      hint: 'Its Wasm and CPU backends have float64: defaultDevice("wasm").',
      cause: error,
    });
  }
}

/**
 * jax-js tells the kinds of typed arrays apart with `instanceof Float16Array`, before it comes to Float64Array. Where
 * that class is missing, the name stands for an empty class, and only until jax-js has looked.
 */
function withFloat16Array<T>(work: () => T): T {
  if ("Float16Array" in globalThis) return work();
  Object.defineProperty(globalThis, "Float16Array", { configurable: true, value: class Float16Array {} });
  try {
    return work();
  } finally {
    Reflect.deleteProperty(globalThis, "Float16Array");
  }
}

/** The elements of a jax-js array, as a copy. The caller's reference is consumed. */
export async function hostFromJax(array: JaxArray): Promise<HostArray> {
  const { numpy: np } = jax();
  const dtype = array.dtype as HostArray["dtype"];
  const shape = [...array.shape];
  if (dtype === "float16" && !("Float16Array" in globalThis)) {
    const data = (await array.astype(np.float32).data()) as Float32Array;
    return makeHostArray(dtype, shape, Uint16Array.from(data, numberToFloat16));
  }
  const data = await array.data();
  if (dtype === "bool") return makeHostArray(dtype, shape, Uint8Array.from(data as Int32Array));
  // A Float16Array becomes the bit patterns that this project keeps the dtype in.
  return makeHostArray(dtype, shape, viewAs(dtype, data.buffer as ArrayBuffer, data.byteOffset, data.length));
}

/** The same elements in another dtype of floating point. */
export function castHost(array: HostArray, dtype: "float16" | "float32" | "float64"): HostArray {
  const numbers =
    array.dtype === "float16"
      ? Float32Array.from(array.data as Uint16Array, float16ToNumber)
      : (array.data as Float64Array);
  switch (dtype) {
    case "float16":
      return makeHostArray(dtype, array.shape, Uint16Array.from(numbers, numberToFloat16));
    case "float32":
      return makeHostArray(dtype, array.shape, Float32Array.from(numbers));
    case "float64":
      return makeHostArray(dtype, array.shape, Float64Array.from(numbers));
  }
}

export const unsupportedDType = (dtype: string, what = "An array"): Error =>
  programError("UNSUPPORTED_DTYPE", `${what} is of ${dtype}, which jax-js doesn't have`, {
    hint:
      "jax-js has float32, float64, float16, int32, uint32 and bool. Within a program such an array can only be passed on " +
      "to a Tesseract, or returned.",
  });
