/** The class `Float16Array`, which Node 20 and 22 don't have. */
import type { TypedArray } from "../arrays/dtype.js";

/** The same memory as a `Float16Array`; undefined where there is none. */
export function asFloat16Array({ buffer, byteOffset, length }: TypedArray): unknown {
  const { Float16Array } = globalThis as { readonly Float16Array?: new (...view: unknown[]) => unknown };
  return Float16Array === undefined ? undefined : new Float16Array(buffer, byteOffset, length);
}

/**
 * Runs `make` where the name `Float16Array` stands for a class: jax-js tells typed arrays apart with
 * `instanceof Float16Array` before it comes to Float64Array. Where the class is missing, an empty one has its name, and only
 * while `make` runs.
 */
export function withFloat16Array<T>(make: () => T): T {
  if ("Float16Array" in globalThis) return make();
  Object.defineProperty(globalThis, "Float16Array", { configurable: true, value: class Float16Array {} });
  try {
    return make();
  } finally {
    Reflect.deleteProperty(globalThis, "Float16Array");
  }
}
