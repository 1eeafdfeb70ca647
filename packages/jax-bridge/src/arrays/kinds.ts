/** Tells the kinds of arrays apart, by their form: no library is imported for it. */
import { asCudaArray, type CudaArray, type HostArray, isHostArray, type TypedArray } from "@tesseract-ts/core";
import type { JaxArray } from "../jax.js";

/** Whether it is an array of jax-js, or what stands for one while a function is traced. */
export function isJaxValue(value: unknown): value is JaxArray {
  if (typeof value !== "object" || value === null || !("ref" in value)) return false;
  const candidate = value as { readonly dispose?: unknown; readonly weakType?: unknown; readonly dtype?: unknown };
  return (
    typeof candidate.dispose === "function" &&
    typeof candidate.weakType === "boolean" &&
    typeof candidate.dtype === "string"
  );
}

/** Whether it is an array with values, not one of a function that is being traced: only those count references. */
export const isConcreteJaxArray = (value: unknown): value is JaxArray =>
  isJaxValue(value) && typeof (value as { readonly refCount?: unknown }).refCount === "number";

export const isTypedArray = (value: unknown): value is TypedArray =>
  ArrayBuffer.isView(value) && !(value instanceof DataView);

export const cudaArrayOf = (value: unknown): CudaArray | undefined =>
  typeof value === "object" && value !== null ? asCudaArray(value) : undefined;

export const isHost = (value: unknown): value is HostArray | TypedArray =>
  isTypedArray(value) || (typeof value === "object" && value !== null && isHostArray(value));

/** Any array that a Tesseract can be given. */
export const isAnyArray = (value: unknown): value is object =>
  isJaxValue(value) || isHost(value) || cudaArrayOf(value) !== undefined;
