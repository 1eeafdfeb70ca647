/** Arrays in the host's memory. */
import { TesseractError } from "../errors.js";
import {
  type DType,
  dtypeKind,
  dtypeOfTypedArray,
  dtypes,
  entriesPerElement,
  isDType,
  itemSize,
  type TypedArray,
  type TypedArrayOf,
  viewAs,
} from "./dtype.js";
import { float16ToNumber, numberToFloat16 } from "./float16.js";

interface HostArrayOf<D extends DType> {
  readonly dtype: D;
  /** One size per dimension; empty for a scalar. Sizes of 0 are legal. */
  readonly shape: readonly number[];
  /** The elements in C order (see {@link TypedArrayOf}). The array doesn't own it: it is the caller's. */
  readonly data: TypedArrayOf[D];
}

/**
 * An array in the host's memory, in C order. Any object of this form is one; {@link hostArray} makes and checks it.
 * Without a type argument it is the union over all dtypes, which `array.dtype === "float64"` narrows.
 */
export type HostArray<D extends DType = DType> = { readonly [K in D]: HostArrayOf<K> }[D];

/** Numbers nested as deeply as an array has dimensions. */
export type NestedList<T = number | bigint | boolean> = T | readonly NestedList<T>[];

/** How many elements a shape has: 1 for a scalar, 0 if any size is 0. */
export const elementCount = (shape: readonly number[]): number => shape.reduce((count, size) => count * size, 1);

/**
 * Checks that `shape` is a list of whole numbers from 0 on, whose bytes in `dtype` can be counted exactly.
 *
 * @returns how many elements it has
 * @throws TesseractError INVALID_ARRAY
 */
export function checkShape(shape: unknown, dtype: DType): number {
  if (!Array.isArray(shape)) throw invalidArray(`A shape is a list of sizes, not ${describe(shape)}`);
  for (const size of shape) {
    if (!Number.isSafeInteger(size) || size < 0) {
      throw invalidArray(`The shape [${shape.map(String).join(", ")}] has a size that is no whole number from 0 on`);
    }
  }
  const count = elementCount(shape);
  if (!Number.isSafeInteger(count * itemSize(dtype))) {
    throw invalidArray(`The shape [${shape.join(", ")}] of ${dtype} has more bytes than can be counted`);
  }
  return count;
}

/**
 * @throws TesseractError UNSUPPORTED_DTYPE
 */
export function checkDType(dtype: unknown): asserts dtype is DType {
  if (isDType(dtype)) return;
  throw new TesseractError("UNSUPPORTED_DTYPE", `Tesseract arrays have no dtype ${describe(dtype)}`, {
    hint: `Convert the array to one of ${dtypes.join(", ")}.`,
  });
}

/**
 * Whether `value` has the form of a {@link HostArray}: a dtype, a shape, and a typed array as data. An array with strides
 * of its own (an ndarray) isn't one: its elements need not be in C order.
 */
export function isHostArray(value: unknown): value is HostArray {
  if (typeof value !== "object" || value === null || "stride" in value || "strides" in value) return false;
  const array = value as Partial<HostArray>;
  // `data` comes last: another library's may be a getter that throws, or that copies from a GPU.
  return typeof array.dtype === "string" && Array.isArray(array.shape) && dtypeOfTypedArray(array.data) !== undefined;
}

/**
 * Checks an array that came from elsewhere: a known dtype, a legal shape, the right typed array of the right length.
 *
 * @throws TesseractError UNSUPPORTED_DTYPE, INVALID_ARRAY
 */
export function checkHostArray(array: HostArray): void {
  checkDType(array.dtype);
  const entries = checkShape(array.shape, array.dtype) * entriesPerElement(array.dtype);
  const { data, dtype, shape } = array;
  if (!holds(data, dtype)) {
    throw invalidArray(`An array of ${dtype} can't have ${describe(data)} as its data`);
  }
  if (data.length !== entries) {
    throw invalidArray(
      `The shape [${shape.join(", ")}] of ${dtype} needs ${entries} entries of data, but there are ${data.length}`,
    );
  }
  if (dtype === "bool" && (data as Uint8Array).some((entry) => entry > 1)) {
    throw invalidArray("An array of bool has an entry that is neither 0 nor 1");
  }
}

/** Whether a typed array's elements have the form that `dtype` is kept in. */
function holds(data: TypedArray, dtype: DType): boolean {
  const found = dtypeOfTypedArray(data);
  // Its bit patterns, on every platform: a Float16Array's entries are numbers.
  if (dtype === "float16") return found === "uint16";
  if (found === dtype) return true;
  if (dtype === "bool") return found === "uint8";
  if (dtype === "complex64") return found === "float32";
  if (dtype === "complex128") return found === "float64";
  return false;
}

/**
 * Makes a {@link HostArray} from a typed array (kept as it is, not copied) or from numbers in nested lists.
 *
 * Without `shape`, a typed array is taken as one-dimensional and a nested list as deep as it is. Without `dtype`, it
 * follows from the typed array's class; in lists, all booleans make `bool`, all bigints `int64`, numbers `float64`.
 *
 * @throws TesseractError UNSUPPORTED_DTYPE, INVALID_ARRAY
 *
 * @example
 * hostArray(new Float32Array(6), { shape: [2, 3] });
 * hostArray([[1, 2], [3, 4]], { dtype: "int64" });
 * hostArray(Number.NaN); // a float64 scalar, shape []
 */
export function hostArray<D extends DType = DType>(
  values: TypedArray | NestedList,
  options: { readonly dtype?: D; readonly shape?: readonly number[] } = {},
): HostArray<D> {
  if (options.dtype !== undefined) checkDType(options.dtype);
  const array = ArrayBuffer.isView(values)
    ? hostArrayOver(values, options.dtype, options.shape)
    : fromNested(values, options.dtype, options.shape);
  checkHostArray(array);
  return array as HostArray<D>;
}

/**
 * What {@link hostArray} makes of a typed array, unchecked if a dtype or a shape is given.
 *
 * @throws TesseractError INVALID_ARRAY if its class stands for no dtype
 */
export function hostArrayOver(data: TypedArray, dtype?: DType, shape?: readonly number[]): HostArray {
  const own = dtypeOfTypedArray(data);
  const found = dtype ?? own;
  if (found === undefined) throw invalidArray(`A ${data.constructor.name} has no dtype`);
  if (own === "float16" && found !== own)
    throw invalidArray(`An array of ${found} can't have a Float16Array as its data`);
  const sizes = shape === undefined ? [Math.floor(data.length / entriesPerElement(found))] : copied(shape);
  return makeHostArray(found, sizes, normalized(data));
}

/** A `Float16Array` or `Uint8ClampedArray` as the class that this project keeps the dtype in, over the same memory. */
function normalized(data: TypedArray): TypedArray {
  const dtype = dtypeOfTypedArray(data);
  if (dtype === undefined || data.constructor === viewAs(dtype, new ArrayBuffer(0)).constructor) return data;
  return viewAs(dtype, data.buffer, data.byteOffset, data.length);
}

function fromNested(values: NestedList, dtype?: DType, shape?: readonly number[]): HostArray {
  const flat: (number | bigint | boolean)[] = [];
  const nested = shapeOfNested(values);
  flatten(values, nested, 0, flat);
  const found = dtype ?? inferDType(flat);
  if (dtypeKind(found) === "complex") {
    throw invalidArray("Complex numbers can't be given as lists; pass a typed array of real and imaginary parts");
  }
  const data = viewAs(found, new ArrayBuffer(flat.length * itemSize(found)));
  for (let i = 0; i < flat.length; i++) data[i] = toEntry(flat[i] as number | bigint | boolean, found);
  return makeHostArray(found, shape === undefined ? nested : copied(shape), data);
}

function toEntry(value: number | bigint | boolean, dtype: DType): never {
  // The caller's `data` is of the dtype's class, which takes bigints for the 64-bit integers and numbers otherwise.
  let entry: number | bigint;
  const kind = dtypeKind(dtype);
  if (kind === "int" || kind === "uint") {
    if (typeof value === "number" && !Number.isInteger(value)) throw invalidArray(`${value} is no ${dtype}`);
    const whole = BigInt(value);
    const width = itemSize(dtype) * 8;
    if (whole !== (kind === "int" ? BigInt.asIntN(width, whole) : BigInt.asUintN(width, whole))) {
      throw invalidArray(`${value} doesn't fit into ${dtype}`);
    }
    entry = width === 64 ? whole : Number(whole);
  } else if (kind === "bool") {
    if (typeof value !== "boolean") throw invalidArray(`${value} is no bool`);
    entry = Number(value);
  } else {
    entry = dtype === "float16" ? numberToFloat16(Number(value)) : Number(value);
  }
  return entry as never;
}

function shapeOfNested(values: NestedList): number[] {
  const shape: number[] = [];
  let level: NestedList | undefined = values;
  while (Array.isArray(level)) {
    if (shape.length >= 64) throw invalidArray("A nested list is more than 64 levels deep");
    shape.push(level.length);
    level = level[0];
  }
  return shape;
}

function flatten(
  values: NestedList,
  shape: readonly number[],
  depth: number,
  out: (number | bigint | boolean)[],
): void {
  if (depth === shape.length) {
    if (typeof values !== "number" && typeof values !== "bigint" && typeof values !== "boolean") {
      throw invalidArray(`A nested list has ${describe(values)} where a number should be`);
    }
    out.push(values);
    return;
  }
  if (!Array.isArray(values) || values.length !== shape[depth]) {
    throw invalidArray(`A nested list isn't rectangular: its first rows have the shape [${shape.join(", ")}]`);
  }
  for (const value of values) flatten(value, shape, depth + 1, out);
}

/** The array keeps its shape, whatever the caller does with the list; what is no list is refused later. */
const copied = (shape: readonly number[]): readonly number[] => (Array.isArray(shape) ? [...shape] : shape);

function inferDType(flat: readonly (number | bigint | boolean)[]): DType {
  const kinds = new Set(flat.map((value) => typeof value));
  if (kinds.size > 1) throw invalidArray(`A list mixes ${[...kinds].join("s and ")}s, so its dtype must be given`);
  return kinds.has("boolean") ? "bool" : kinds.has("bigint") ? "int64" : "float64";
}

/** Puts the parts together; the type system can't follow which class goes with which dtype, so the caller vouches. */
export const makeHostArray = (dtype: DType, shape: readonly number[], data: TypedArray): HostArray =>
  ({ dtype, shape, data }) as HostArray;

/**
 * An array's elements as nested lists: numbers, bigints for the 64-bit integers, booleans for `bool`, and
 * `[real, imaginary]` for complex dtypes. A scalar gives the element itself.
 */
export function toNestedList(array: HostArray): NestedList {
  const kind = dtypeKind(array.dtype);
  const { data } = array;
  const element = (index: number): NestedList => {
    if (kind === "complex") return [data[2 * index] as number, data[2 * index + 1] as number];
    const entry = data[index] as number | bigint;
    if (kind === "bool") return entry !== 0;
    return array.dtype === "float16" ? float16ToNumber(entry as number) : entry;
  };
  const nest = (depth: number, start: number, count: number): NestedList => {
    if (depth === array.shape.length) return element(start);
    const rows = array.shape[depth] as number;
    const step = rows === 0 ? 0 : count / rows;
    return Array.from({ length: rows }, (_, row) => nest(depth + 1, start + row * step, step));
  };
  return nest(0, 0, elementCount(array.shape));
}

/** The bytes of an array's data, not copied. */
export const bytesOf = ({ data }: HostArray): Uint8Array =>
  new Uint8Array(data.buffer, data.byteOffset, data.byteLength);

function invalidArray(message: string): TesseractError {
  return new TesseractError("INVALID_ARRAY", message);
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Array.isArray(value)) return "a list";
  return value === null || typeof value !== "object" ? String(value) : `a ${value.constructor?.name ?? "bare object"}`;
}
