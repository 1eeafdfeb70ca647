/** From host arrays to jax-js' arrays. */
import { float16ToNumber } from "../arrays/float16.js";
import { elementCount, type HostArray } from "../arrays/host-array.js";
import { withFloat16Array } from "./float16-array.js";
import { unsupportedBy } from "./unsupported.js";

/** The part of jax-js's `numpy` that makes arrays. */
export interface JaxNumpy<A> {
  array(values: never, options: never): A;
  zeros(shape: number[], options: never): A;
  readonly float16: unknown;
  readonly bool: unknown;
}

const dtypes: ReadonlySet<string> = new Set(["float16", "float32", "float64", "int32", "uint32", "bool"]);

/**
 * A jax-js array with the array's elements, on jax-js's default device, to which they are copied. It has one reference,
 * which is the caller's.
 *
 * @param np `import { numpy as np } from "@jax-js/jax"`
 * @throws TesseractError UNSUPPORTED_DTYPE
 *
 * @example
 * const x = toJaxJs(y, np);
 */
export function toJaxJs<A extends { astype(dtype: never): unknown }>(array: HostArray, np: JaxNumpy<A>): A {
  const { dtype, data } = array;
  const shape = [...array.shape];
  if (!dtypes.has(dtype)) throw unsupportedBy("jax-js", dtype, dtypes);
  const make = (values: unknown, options: object): A => np.array(values as never, options as never);
  // jax-js looks at the first element of what it takes.
  if (elementCount(shape) === 0) return np.zeros(shape, { dtype } as never);
  switch (dtype) {
    case "bool":
      return make(Int32Array.from(data as Uint8Array), { shape, dtype: np.bool });
    case "float16":
      return make(Float32Array.from(data as Uint16Array, float16ToNumber), { shape }).astype(np.float16 as never) as A;
    default:
      return withFloat16Array(() => make(data, { shape }));
  }
}
