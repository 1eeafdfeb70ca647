/** Arithmetic on real arrays, in float64, for the derivatives that are computed here. */
import {
  type DType,
  dtypeKind,
  elementCount,
  float16ToNumber,
  type HostArray,
  isHostArray,
  makeHostArray,
  TesseractError,
} from "@tesseract-ts/core";
import { valueAt } from "../schema/paths.js";
import { cast } from "../validate/cast.js";
import type { Tree } from "./derived.js";

/** Real numbers in float64, with the shape and dtype of the array they come from. */
export interface RealArray {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly values: Float64Array;
}

/** @throws TesseractError INVALID_ARGUMENT if there is no array of real numbers in the host's memory */
export function realAt(tree: Tree, path: string): RealArray {
  const value = valueAt(tree, path);
  if (isHostArray(value)) return toReal(value, path);
  if (typeof value === "number") return { shape: [], dtype: "float64", values: Float64Array.of(value) };
  const found =
    value === undefined
      ? "nothing"
      : typeof value === "object" && value !== null && "cudaArrayInterface" in value
        ? "a GPU array"
        : "no array";
  throw new TesseractError("INVALID_ARGUMENT", `A derivative is wanted at "${path}", where there is ${found}`, {
    hint: "Derived endpoints work with arrays in the host's memory.",
  });
}

export function toReal({ dtype, shape, data }: HostArray, path: string): RealArray {
  if (dtypeKind(dtype) !== "float") {
    throw new TesseractError("INVALID_ARGUMENT", `A derivative is wanted at "${path}", an array of ${dtype}`, {
      hint: "Derived endpoints work with float arrays.",
    });
  }
  const values =
    dtype === "float64"
      ? (data as Float64Array)
      : Float64Array.from(data as Float32Array, dtype === "float16" ? float16ToNumber : undefined);
  return { shape, dtype, values };
}

/** @throws TesseractError INVALID_ARGUMENT if a value is too large for the dtype */
export function fromReal({ dtype, shape, values }: RealArray): HostArray {
  if (dtype === "float64") return makeHostArray(dtype, shape, values);
  const data = cast(values, "float64", dtype);
  if ("msg" in data) throw new TesseractError("INVALID_ARGUMENT", `A derivative is too large: ${data.msg}`);
  return makeHostArray(dtype, shape, data);
}

export const zerosLike = ({ dtype, shape }: RealArray, more: readonly number[] = []): RealArray => ({
  dtype,
  shape: [...shape, ...more],
  values: new Float64Array(elementCount([...shape, ...more])),
});

export function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number);
  return sum;
}

/** The largest magnitude. */
export const norm = (values: Float64Array): number =>
  values.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
