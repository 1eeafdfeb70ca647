/** Arrays of jax-js from arrays in the host's memory. */
import { type Array as JaxArray, numpy as np } from "@jax-js/jax";
import { type DType, elementCount, type HostArray, TesseractError, type TypedArray } from "@tesseract-ts/core";

const dtypes = {
  float16: np.float16,
  float32: np.float32,
  float64: np.float64,
  int32: np.int32,
  uint32: np.uint32,
  bool: np.bool,
} as const satisfies Partial<Record<DType, unknown>>;

/** The dtypes that jax-js has. */
export type JaxDType = keyof typeof dtypes;

export const isJaxDType = (dtype: string): dtype is JaxDType => Object.hasOwn(dtypes, dtype);

export function jaxDType(dtype: string, path: string): (typeof dtypes)[JaxDType] {
  if (isJaxDType(dtype)) return dtypes[dtype];
  throw new TesseractError("UNSUPPORTED_DTYPE", `"${path}": jax-js has no arrays of ${dtype}`, {
    hint: `It has ${Object.keys(dtypes).join(", ")}.`,
  });
}

/**
 * The array on jax-js's default device, with one reference.
 *
 * @throws TesseractError UNSUPPORTED_DTYPE
 */
export function toJax(array: HostArray, path: string): JaxArray {
  const { shape, data } = array;
  const dtype = jaxDType(array.dtype, path);
  // jax-js looks at the first element of what it takes.
  if (elementCount(shape) === 0) return zeros(array, path);
  const options = { shape: [...shape] };
  switch (array.dtype) {
    case "float16":
      return fromData(asFloat16(data, path), options);
    case "bool":
      return fromData(Int32Array.from(data as Uint8Array), options).astype(dtype);
    default:
      return fromData(data, options);
  }
}

/** @throws TesseractError UNSUPPORTED_DTYPE where there is no `Float16Array`: jax-js takes nothing else, and casts to it on GPUs only */
function asFloat16({ buffer, byteOffset, length }: TypedArray, path: string): TypedArray {
  const { Float16Array } = globalThis as { readonly Float16Array?: new (...view: unknown[]) => TypedArray };
  if (Float16Array !== undefined) return new Float16Array(buffer, byteOffset, length);
  throw new TesseractError(
    "UNSUPPORTED_DTYPE",
    `"${path}": this platform has no Float16Array, which jax-js needs for float16`,
    {
      hint: "Use Node 24 or newer, or float32 in the schema.",
    },
  );
}

export const zeros = (
  { shape, dtype }: { readonly shape: readonly number[]; readonly dtype: string },
  path: string,
): JaxArray => np.zeros([...shape], { dtype: jaxDType(dtype, path) });

/**
 * `np.array` of a typed array. jax-js 0.1.25 asks whether it is a `Float16Array` before it asks whether it is a
 * `Float64Array`, and Node 20 and 22 have no `Float16Array`. So there is one while it asks, which takes no turn of the event
 * loop; its lists would do too, but lose float64's precision.
 */
function fromData(data: TypedArray, options: { readonly shape: number[] }): JaxArray {
  const make = (): JaxArray => np.array(data as Float32Array<ArrayBuffer>, options);
  if ("Float16Array" in globalThis) return make();
  Object.defineProperty(globalThis, "Float16Array", { value: class {}, configurable: true });
  try {
    return make();
  } finally {
    Reflect.deleteProperty(globalThis, "Float16Array");
  }
}

/** Whether a value is an array of jax-js, or what stands for one while a function is traced. */
export const isJaxArray = (value: unknown): value is JaxArray => value instanceof np.Array || isTracer(value);

/** Tracers have the methods of arrays, and no class that is public. */
function isTracer(value: unknown): value is JaxArray {
  if (typeof value !== "object" || value === null) return false;
  const { weakType, dispose, astype } = value as Readonly<Record<string, unknown>>;
  return typeof weakType === "boolean" && typeof dispose === "function" && typeof astype === "function";
}

/** Frees an array, however many references to it there are: of those that only the caller can have. */
export function free(array: JaxArray): void {
  while (array.refCount > 0) array.dispose();
}
