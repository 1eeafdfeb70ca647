/** What is known of an array before it has values: its abstract value, as JAX calls it. */
import type { DType } from "@tesseract-ts/core";
import { type JaxArray, jax } from "../jax.js";

export interface Aval {
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Whether it comes from a plain number, whose dtype gives way to that of what it meets. */
  readonly weakType: boolean;
}

export const aval = (shape: readonly number[], dtype: DType, weakType = false): Aval => ({ shape, dtype, weakType });

/** `float64[3,2]`, as jax-js writes it. */
export const avalText = ({ dtype, shape, weakType }: Aval): string =>
  `${dtype}[${shape.join(",")}]${weakType ? "*" : ""}`;

export const isFloating = ({ dtype }: Pick<Aval, "dtype">): boolean => dtype.startsWith("float");

const jaxDTypes: ReadonlySet<DType> = new Set(["float16", "float32", "float64", "int32", "uint32", "bool"]);

/** Whether jax-js has arrays of this dtype. */
export const isJaxDType = (dtype: DType): boolean => jaxDTypes.has(dtype);

export const avalOf = (array: JaxArray): Aval => ({
  shape: [...array.shape],
  dtype: array.dtype as DType,
  weakType: array.weakType,
});

/** With one more dimension in front. */
export const batched = ({ shape, dtype }: Aval, size: number): Aval => aval([size, ...shape], dtype);

export const sameShape = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((size, axis) => size === b[axis]);

/** An array of zeros that takes no memory until it is computed with. */
export function zerosOf({ shape, dtype, weakType }: Aval): JaxArray {
  const { numpy: np } = jax();
  if (weakType && shape.length === 0 && dtype === "float32") return np.array(0);
  const zero = np.zeros([], { dtype: jaxDType(dtype) });
  return shape.length === 0 ? zero : np.broadcastTo(zero, [...shape]);
}

type JaxDType = NonNullable<NonNullable<Parameters<ReturnType<typeof jax>["numpy"]["zeros"]>[1]>["dtype"]>;

/** The names are the same; only the type differs. */
export const jaxDType = (dtype: DType): JaxDType => dtype as unknown as JaxDType;
