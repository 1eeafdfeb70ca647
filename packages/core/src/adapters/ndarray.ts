/** Views of scijs' ndarray (https://github.com/scijs/ndarray). */
import { type DType, dtypeOfTypedArray, itemSize, type TypedArray, viewAs } from "../arrays/dtype.js";
import { checkShape, type HostArray, makeHostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { ArrayAdapter } from "./adapter.js";
import { isClassInstance, type Unchecked } from "./class-instance.js";
import { dtypeNamed } from "./dtype-names.js";

interface NdArray {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Elements from one to the next along each dimension; negative in a reversed view, 0 in a repeated one. */
  readonly stride: readonly number[];
  /** Where in `data` the first element is. */
  readonly offset: number;
  /** How many dimensions there are; -1 for the view without any element, which `pick()` on a scalar gives. */
  readonly dimension: number;
  readonly data: unknown;
  index(...at: number[]): number;
  pick(...at: (number | null)[]): NdArray;
}

const dtypes: ReadonlyMap<string, DType> = new Map([
  ["float16", "float16"],
  ["float32", "float32"],
  ["float64", "float64"],
  ["int8", "int8"],
  ["int16", "int16"],
  ["int32", "int32"],
  ["bigint64", "int64"],
  ["uint8", "uint8"],
  ["uint8_clamped", "uint8"],
  ["buffer", "uint8"],
  ["uint16", "uint16"],
  ["uint32", "uint32"],
  ["biguint64", "uint64"],
  // A list of numbers, and any object with get(index): ndarray says nothing about what is in them.
  ["array", "float64"],
  ["generic", "float64"],
]);

/**
 * Recognizes scijs ndarrays. A view in C order is read in place; others (transposed, stepped, reversed) are copied.
 * Lists and objects with `get(index)` count as float64, and must hold numbers.
 */
export const ndarray: ArrayAdapter = {
  name: "ndarray",
  adapt(value) {
    if (!isNdArray(value)) return undefined;
    if (value.dimension < 0) throw invalidArray("An ndarray is the view without any element");
    const dtype = dtypeNamed(value.dtype, dtypes, "An ndarray");
    const shape = [...value.shape];
    const count = checkShape(shape, dtype);
    return { dtype, shape, read: () => readView(value, dtype, shape, count) };
  },
};

function isNdArray(value: object): value is NdArray {
  if (!isClassInstance(value)) return false;
  const view = value as Unchecked<NdArray>;
  return (
    typeof view.dimension === "number" &&
    typeof view.dtype === "string" &&
    Array.isArray(view.shape) &&
    Array.isArray(view.stride) &&
    typeof view.index === "function" &&
    typeof view.pick === "function"
  );
}

function readView(view: NdArray, dtype: DType, shape: readonly number[], count: number): HostArray {
  const axes = shape.map((size, axis) => ({ size, step: view.stride[axis] ?? Number.NaN }));
  if (view.dtype === "array" || view.dtype === "generic") {
    return makeHostArray(dtype, shape, numbersOf(view, axes, count));
  }
  if (dtypeOfTypedArray(view.data) !== dtype) throw invalidArray(`An ndarray of ${view.dtype} has other data`);
  const { buffer, byteOffset, length } = view.data as TypedArray;
  checkBounds(axes, view.offset, count, length);
  if (isInCOrder(axes) || count === 0) {
    const start = count === 0 ? 0 : view.offset;
    return makeHostArray(dtype, shape, viewAs(dtype, buffer, byteOffset + start * itemSize(dtype), count));
  }
  // Both are of the dtype's class; the patterns of a Float16Array are copied as they are.
  const source = viewAs(dtype, buffer, byteOffset, length);
  const target = viewAs(dtype, new ArrayBuffer(count * itemSize(dtype)));
  let index = 0;
  visitElements(axes, view.offset, (position) => {
    target[index++] = source[position] as never;
  });
  return makeHostArray(dtype, shape, target);
}

function numbersOf({ data, offset }: NdArray, axes: readonly Axis[], count: number): Float64Array {
  const list = data as ArrayLike<unknown> & { get?(index: number): unknown };
  checkBounds(axes, offset, count, list.length);
  const numbers = new Float64Array(count);
  let index = 0;
  visitElements(axes, offset, (position) => {
    const number = Array.isArray(list) ? list[position] : list.get?.(position);
    if (typeof number !== "number") {
      throw invalidArray(`An ndarray has a ${typeof number} where a number should be`);
    }
    numbers[index++] = number;
  });
  return numbers;
}

interface Axis {
  readonly size: number;
  readonly step: number;
}

function isInCOrder(axes: readonly Axis[]): boolean {
  let expected = 1;
  return [...axes].reverse().every(({ size, step }) => {
    // One never steps along a dimension of size 1.
    if (size !== 1 && step !== expected) return false;
    expected *= size;
    return true;
  });
}

/** Typed arrays give undefined outside of their bounds, which would be written as 0 or NaN. */
function checkBounds(axes: readonly Axis[], offset: number, count: number, length: number): void {
  if (count === 0) return;
  let [lowest, highest] = [offset, offset];
  for (const { size, step } of axes) {
    lowest += Math.min(0, (size - 1) * step);
    highest += Math.max(0, (size - 1) * step);
  }
  if (Number.isSafeInteger(lowest) && Number.isSafeInteger(highest) && lowest >= 0 && highest < length) return;
  throw invalidArray(`An ndarray's elements lie from ${lowest} to ${highest}, but its data has ${length}`);
}

/** Calls `visit` with where each element is in the data, in C order. */
function visitElements(axes: readonly Axis[], position: number, visit: (position: number) => void, depth = 0): void {
  const axis = axes[depth];
  if (axis === undefined) {
    visit(position);
    return;
  }
  for (let i = 0; i < axis.size; i++) visitElements(axes, position + i * axis.step, visit, depth + 1);
}

const invalidArray = (message: string): TesseractError => new TesseractError("INVALID_ARRAY", message);
