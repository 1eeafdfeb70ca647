/** What stands in a traced function for an array of a dtype that jax-js lacks, such as int64. */
import { type Aval, avalText } from "./aval.js";
import { unsupportedDType } from "./convert.js";

/**
 * It has a shape and a dtype, and can be passed on to a Tesseract or returned. Everything else that arrays can do
 * throws UNSUPPORTED_DTYPE.
 */
export interface OpaqueArray {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly ref: OpaqueArray;
  dispose(): void;
}

const opaque: unique symbol = Symbol("OpaqueArray");

export const isOpaque = (value: unknown): value is OpaqueArray =>
  typeof value === "object" && value !== null && opaque in value;

/** @param name what it is, for messages */
export function opaqueArray(aval: Aval, name: string): OpaqueArray {
  const refuse = (): never => {
    throw unsupportedDType(aval.dtype, `${name} (${avalText(aval)})`);
  };
  const target = { shape: aval.shape, dtype: aval.dtype, dispose: () => {}, [opaque]: true };
  const array: OpaqueArray = new Proxy(target as unknown as OpaqueArray, {
    get(own, property) {
      if (property === "ref") return array;
      if (Object.hasOwn(own, property)) return Reflect.get(own, property);
      // Asked of everything that may be a promise, a class instance or printable.
      if (property === "then" || property === "constructor" || property === "toJSON") return undefined;
      // jax-js puts what it can't compute with into a message.
      if (typeof property === "symbol" && property !== Symbol.toPrimitive && property !== Symbol.iterator)
        return undefined;
      return refuse();
    },
  });
  return array;
}
