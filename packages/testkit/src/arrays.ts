/** Arrays to send, and how two are told apart. */
import {
  bytesOf,
  checkHostArray,
  type DType,
  elementCount,
  type HostArray,
  isHostArray,
  itemSize,
  makeHostArray,
  viewAs,
} from "@tesseract-ts/core";
import { randomNumbers } from "./random.js";

/** An array with any bytes: NaNs with payloads, infinities and the ends of the integers among them. */
export function anyArray(dtype: DType, shape: readonly number[], seed: number): HostArray {
  const bytes = new Uint8Array(elementCount(shape) * itemSize(dtype));
  fill(bytes, dtype, seed);
  return makeHostArray(dtype, shape, viewAs(dtype, bytes.buffer));
}

/** An array whose data lies in the middle of larger memory. */
export function arrayWithin(dtype: DType, shape: readonly number[], seed: number): HostArray {
  const size = itemSize(dtype);
  const count = elementCount(shape);
  const memory = new Uint8Array((count + 4) * size).fill(0xee);
  fill(memory.subarray(size, (count + 1) * size), dtype, seed);
  return makeHostArray(dtype, shape, viewAs(dtype, memory.buffer, size, count));
}

function fill(bytes: Uint8Array, dtype: DType, seed: number): void {
  const next = randomNumbers(seed);
  for (let index = 0; index < bytes.length; index++) {
    const byte = Math.floor(next() * 256);
    bytes[index] = dtype === "bool" ? byte & 1 : byte;
  }
  // Whole items of ones are NaNs, -1s and the largest numbers; whole items of zeros are there too.
  const size = itemSize(dtype);
  if (dtype !== "bool" && bytes.length >= 3 * size) bytes.fill(0xff, 0, size).fill(0, size, 2 * size);
}

/** What is wrong with an array as a stand-in for `expected`; undefined if they are equal to the bit. */
export function differenceOf(found: unknown, expected: HostArray): string | undefined {
  const said = malformation(found, expected);
  if (said !== undefined) return said;
  const [ours, theirs] = [bytesOf(found as HostArray), bytesOf(expected)];
  if (sameBytes(ours, theirs)) return undefined;
  const at = ours.findIndex((byte, index) => byte !== theirs[index]);
  const element = Math.floor(at / itemSize(expected.dtype));
  return `element ${element} of ${describe(expected)} has other bytes: ${ours[at]} instead of ${theirs[at]} at byte ${at}`;
}

/** What keeps `found` from being an array of this dtype and shape; undefined if it is one. */
export function malformation(
  found: unknown,
  { dtype, shape }: { readonly dtype: DType; readonly shape: readonly number[] },
): string | undefined {
  if (!isHostArray(found)) return `there is no array where ${describe({ dtype, shape })} should be`;
  if (found.dtype !== dtype || String(found.shape) !== String(shape) || found.shape.length !== shape.length) {
    return `there is ${describe(found)} where ${describe({ dtype, shape })} should be`;
  }
  try {
    checkHostArray(found);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

export const sameBytes = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

/** The first difference between two lists of arrays. */
export function firstDifference(found: readonly unknown[], expected: readonly HostArray[]): string | undefined {
  if (found.length !== expected.length) return `there are ${found.length} arrays where ${expected.length} were sent`;
  for (const [index, array] of expected.entries()) {
    const difference = differenceOf(found[index], array);
    if (difference !== undefined) return `array ${index + 1} of ${expected.length}: ${difference}`;
  }
  return undefined;
}

export const describe = ({ dtype, shape }: { readonly dtype: DType; readonly shape: readonly number[] }): string =>
  `${dtype} [${shape.join(", ")}]`;

/** A copy that shares nothing. */
export const copyOf = (array: HostArray): HostArray =>
  makeHostArray(array.dtype, [...array.shape], viewAs(array.dtype, bytesOf(array).slice().buffer));
