/** Casts an array's elements to another dtype, if no value is lost, by the rules of NumPy that the reference goes by. */
import {
  type DType,
  dtypeKind,
  entriesPerElement,
  float16ToNumber,
  itemSize,
  numberToFloat16,
  type TypedArray,
  viewAs,
} from "@tesseract-ts/core";
import type { Fault } from "./issues.js";

const rank = { bool: 0, uint: 1, int: 1, float: 2, complex: 3 } as const;

/** Whether a cast keeps the kind, or widens it: bool, integers, floats, complex numbers. Nothing becomes bool. */
export const isCastable = (from: DType, to: DType): boolean =>
  from === to || (to !== "bool" && rank[dtypeKind(from)] <= rank[dtypeKind(to)]);

export const dtypeMismatch = (actual: string, expected: string, reason = "a cast would lose values"): Fault => ({
  type: "array_dtype_mismatch",
  msg: `The array has the dtype ${actual}, and ${expected} is wanted: ${reason}`,
  ctx: { actual_dtype: actual, expected_dtype: expected },
});

/** Elements as numbers, of any dtype but complex ones, which have two entries each. */
export interface Elements {
  readonly length: number;
  readonly [index: number]: number | bigint;
}

/** float16 is kept as bit patterns. */
export const elementsOf = (dtype: DType, data: TypedArray): Elements =>
  dtype === "float16" ? Float32Array.from(data as Uint16Array, float16ToNumber) : data;

export const allocate = <D extends DType>(dtype: D, elements: number): TypedArray =>
  viewAs(dtype, new ArrayBuffer(elements * itemSize(dtype)));

/** @returns fresh memory; the caller has made sure that the cast is allowed */
export function cast(source: Elements, from: DType, to: DType): TypedArray | Fault {
  const kind = dtypeKind(to);
  if (kind === "int" || kind === "uint") return castToInteger(source, to);
  if (kind === "bool") return Uint8Array.from({ length: source.length }, (_, index) => (source[index] ? 1 : 0));
  if (kind === "float") return castToFloat(source, from, to);
  const isComplex = dtypeKind(from) === "complex";
  const target = allocate(to, isComplex ? source.length / 2 : source.length);
  const step = isComplex ? 1 : 2;
  for (let index = 0; index < source.length; index++) {
    const value = Number(source[index]);
    target[index * step] = value as never;
    if (Number.isFinite(value) && !Number.isFinite(target[index * step] as number)) {
      const at = isComplex ? index - (index % 2) : index;
      const text = isComplex
        ? pythonComplex(Number(source[at]), Number(source[at + 1]))
        : pythonNumber(source[index] as number | bigint, dtypeKind(from) === "float");
      return outOfRange(to, text);
    }
  }
  return target;
}

function castToInteger(source: Elements, to: DType): TypedArray | Fault {
  const target = allocate(to, source.length);
  if (source.length === 0) return target;
  let low = source[0] as number | bigint;
  let high = low;
  for (let index = 1; index < source.length; index++) {
    const value = source[index] as number | bigint;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  const width = BigInt(itemSize(to) * 8);
  const signed = dtypeKind(to) === "int";
  const smallest = signed ? -(1n << (width - 1n)) : 0n;
  const largest = (1n << (signed ? width - 1n : width)) - 1n;
  if (low < smallest) return outOfRange(to, String(low));
  if (high > largest) return outOfRange(to, String(high));
  const wide = width === 64n;
  for (let index = 0; index < source.length; index++) {
    const value = source[index] as number | bigint;
    target[index] = (wide ? BigInt(value) : Number(value)) as never;
  }
  return target;
}

function castToFloat(source: Elements, from: DType, to: DType): TypedArray | Fault {
  if (to === "float64" && source instanceof Float32Array) return new Float64Array(source);
  const target = allocate(to, source.length);
  const half = to === "float16";
  for (let index = 0; index < source.length; index++) {
    const value = Number(source[index]);
    target[index] = (half ? numberToFloat16(value) : value) as never;
    const infinite = half ? ((target[index] as number) & 0x7c00) === 0x7c00 : !Number.isFinite(target[index] as number);
    if (infinite && Number.isFinite(value)) {
      return outOfRange(to, pythonNumber(source[index] as number | bigint, dtypeKind(from) === "float"));
    }
  }
  return target;
}

export const outOfRange = (dtype: DType, value: string): Fault => ({
  type: "array_value_out_of_range",
  msg: `The array has a value that ${dtype} can't hold: ${value}`,
  ctx: { expected_dtype: dtype, value },
});

export const expectedInteger = (dtype: DType): Fault => ({
  type: "array_expected_integer",
  msg: `The array has a value with a fraction, and ${dtype} is wanted`,
  ctx: {},
});

/** A number as Python prints it: `1.0`, `1e+39`. */
function pythonNumber(value: number | bigint, isFloat: boolean): string {
  if (!isFloat || typeof value === "bigint") return String(value);
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude >= 1e16 || magnitude < 1e-4)) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

const pythonComplex = (re: number, im: number): string => {
  const part = (value: number): string => pythonNumber(value, true).replace(/\.0$/, "");
  return re === 0 && !Object.is(re, -0) ? `${part(im)}j` : `(${part(re)}${im < 0 ? "" : "+"}${part(im)}j)`;
};

/** Entries that a shape of a dtype has in its typed array. */
export const entryCount = (dtype: DType, elements: number): number => elements * entriesPerElement(dtype);
