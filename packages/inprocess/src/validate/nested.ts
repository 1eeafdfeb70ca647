/** Numbers in lists as arrays, by NumPy's rules: the shape from the nesting, the dtype from the numbers. */
import type { DType } from "@tesseract-ts/core";
import { hasWrittenFloat } from "@tesseract-ts/core/message";
import type { Fault } from "./issues.js";

/** NumPy's own limit. */
const MAX_DIMENSIONS = 64;

export interface NestedArray {
  readonly shape: readonly number[];
  /** In C order. */
  readonly items: readonly unknown[];
  /** Whether one of them was written as a float, as far as that is known. */
  readonly hasFloat: boolean;
}

export const ragged: Fault = {
  type: "value_error",
  msg: "The lists aren't of one length, so they make no array",
  ctx: { error: {} },
};

/** @returns {@link ragged} if the lists have different lengths, or lists and other values stand side by side */
export function flatten(value: unknown): NestedArray | typeof ragged {
  const shape: number[] = [];
  for (let level = value; Array.isArray(level) && shape.length < MAX_DIMENSIONS; level = level[0]) {
    shape.push(level.length);
  }
  const depth = shape.length;
  const items: unknown[] = [];
  let hasFloat = false;
  const visit = (list: unknown, dimension: number): boolean => {
    if (!Array.isArray(list) || list.length !== shape[dimension]) return false;
    if (dimension === depth - 1) {
      hasFloat ||= hasWrittenFloat(list);
      for (const item of list) {
        if (Array.isArray(item) && depth < MAX_DIMENSIONS) return false;
        items.push(item);
      }
      return true;
    }
    return list.every((item) => visit(item, dimension + 1));
  };
  if (depth === 0) return { shape, items: [value], hasFloat };
  return visit(value, 0) ? { shape, items, hasFloat } : ragged;
}

/**
 * The dtype of plain numbers. Undefined if they are no numbers, or too large for any.
 *
 * @param hasFloat whether one of them was written as a float
 */
export function inferDType(items: readonly unknown[], hasFloat = false): DType | undefined {
  let bools = 0;
  let floats = hasFloat;
  let smallest: bigint | number = 0;
  let largest: bigint | number = 0;
  for (const item of items) {
    if (typeof item === "boolean") {
      bools++;
    } else if (typeof item === "bigint") {
      if (item < smallest) smallest = item;
      if (item > largest) largest = item;
    } else if (typeof item === "number") {
      // A whole number beyond 2^53 comes as a bigint where it was written as a whole number.
      if (!Number.isSafeInteger(item)) floats = true;
      else if (item < smallest) smallest = item;
    } else {
      return undefined;
    }
  }
  if (items.length === 0) return "float64";
  if (bools === items.length) return "bool";
  if (largest > 0xffff_ffff_ffff_ffffn || smallest < -0x8000_0000_0000_0000n) return undefined;
  if (floats) return "float64";
  if (largest <= 0x7fff_ffff_ffff_ffffn) return "int64";
  return smallest < 0 ? "float64" : "uint64";
}

/** bools as 0 and 1. */
export const numbersOf = (items: readonly unknown[]): (number | bigint)[] =>
  items.map((item) => (typeof item === "boolean" ? Number(item) : (item as number | bigint)));
