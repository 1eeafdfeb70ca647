import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { float16ToNumber, numberToFloat16 } from "../../src/arrays/float16.js";

const allPatterns = Array.from({ length: 0x10000 }, (_, pattern) => pattern);
const isNaNPattern = (pattern: number): boolean => (pattern & 0x7fff) > 0x7c00;

/** The platform's own conversions, where it has them (Node 24 on). */
const native = (globalThis as { Float16Array?: new (buffer: ArrayBuffer) => Float64Array }).Float16Array;

/** Every finite value from 0 on, in order. Its place in the list is its pattern. */
const magnitudes = Array.from({ length: 0x7c00 }, (_, pattern) => valueByDefinition(pattern));

/** IEEE 754-2019, 3.4: the value that the fields of a binary16 stand for. */
function valueByDefinition(pattern: number): number {
  const exponent = Math.floor(pattern / 1024) % 32;
  const significand = (exponent > 0 ? 1024 : 0) + (pattern % 1024);
  return significand * 2 ** (Math.max(exponent, 1) - 25);
}

/** IEEE 754-2019, 4.3.1, by comparison with all values: the nearest one; of two equally near ones the even one. */
function nearestPattern(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  // Beyond half way to what would be the next value after the largest, the result is infinite.
  if (magnitude >= 65504 + 16) return sign | 0x7c00;
  let nearest = 0;
  let smallest = Number.POSITIVE_INFINITY;
  for (let pattern = 0; pattern < magnitudes.length; pattern++) {
    const distance = Math.abs((magnitudes[pattern] as number) - magnitude);
    if (distance < smallest || (distance === smallest && pattern % 2 === 0)) {
      nearest = pattern;
      smallest = distance;
    }
  }
  return sign | nearest;
}

describe("float16", () => {
  test("every pattern but NaN's survives the way to a number and back", () => {
    const changed = allPatterns.filter((p) => !isNaNPattern(p) && numberToFloat16(float16ToNumber(p)) !== p);
    expect(changed).toEqual([]);
  });

  test("every pattern stands for the value that IEEE 754 gives it", () => {
    const wrong = allPatterns.filter((pattern) => {
      const magnitude = pattern & 0x7fff;
      const expected = isNaNPattern(pattern)
        ? Number.NaN
        : magnitude === 0x7c00
          ? Number.POSITIVE_INFINITY
          : valueByDefinition(magnitude);
      return !Object.is(float16ToNumber(pattern), pattern & 0x8000 ? -expected : expected);
    });
    expect(wrong).toEqual([]);
  });

  test("every pattern of a NaN is NaN, and NaN becomes one", () => {
    expect(allPatterns.filter((p) => isNaNPattern(p) !== Number.isNaN(float16ToNumber(p)))).toEqual([]);
    expect(isNaNPattern(numberToFloat16(Number.NaN))).toBe(true);
  });

  test("the way from a number rounds to the even neighbour half way between two values, and to the nearer beside it", () => {
    const wrong: number[] = [];
    for (let pattern = 0; pattern < 0x7bff; pattern++) {
      const [low, high] = [magnitudes[pattern] as number, magnitudes[pattern + 1] as number];
      const middle = (low + high) / 2;
      const even = pattern % 2 === 0 ? pattern : pattern + 1;
      // A double close beside the middle that a float32 can't tell from it.
      const beside = (high - low) * 2 ** -30;
      for (const sign of [1, -1]) {
        const bit = sign < 0 ? 0x8000 : 0;
        if (numberToFloat16(sign * middle) !== (bit | even)) wrong.push(sign * middle);
        if (numberToFloat16(sign * (middle - beside)) !== (bit | pattern)) wrong.push(sign * (middle - beside));
        if (numberToFloat16(sign * (middle + beside)) !== (bit | (pattern + 1))) wrong.push(sign * (middle + beside));
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ["0", 0, 0],
    ["-0", -0, 0x8000],
    ["the smallest subnormal", 2 ** -24, 1],
    ["half the smallest subnormal", 2 ** -25, 0],
    ["a little more than that", 2 ** -25 * (1 + Number.EPSILON), 1],
    ["the largest subnormal", 1023 * 2 ** -24, 0x3ff],
    ["the smallest normal", 2 ** -14, 0x400],
    ["just below the smallest normal", 2 ** -14 * (1 - Number.EPSILON), 0x400],
    ["just below 2", 2 - Number.EPSILON, 0x4000],
    ["the largest", 65504, 0x7bff],
    ["just below what overflows", 65520 * (1 - Number.EPSILON), 0x7bff],
    ["what overflows", 65520, 0x7c00],
    ["the largest number", Number.MAX_VALUE, 0x7c00],
    ["the smallest number", Number.MIN_VALUE, 0],
    ["-infinity", Number.NEGATIVE_INFINITY, 0xfc00],
  ])("%s becomes the pattern that it should", (_, value, pattern) => {
    expect(numberToFloat16(value)).toBe(pattern);
  });

  // Of any double, and of those that are in the range of a float16.
  const number = fc.oneof(
    fc.double({ noNaN: true }),
    fc.double({ noNaN: true, min: -70000, max: 70000 }),
    fc.double({ noNaN: true, min: -(2 ** -13), max: 2 ** -13 }),
    fc
      .tuple(fc.double({ noNaN: true, min: -2, max: 2 }), fc.integer({ min: -27, max: 16 }))
      .map(([f, e]) => f * 2 ** e),
  );

  test("any number becomes the nearest of all values", () => {
    fc.assert(
      fc.property(number, (value) => numberToFloat16(value) === nearestPattern(value)),
      { numRuns: 2000 },
    );
  });

  test("any number becomes what the platform makes of it", (context) => {
    if (native === undefined) return context.skip(`Node ${process.version} has no Float16Array`);
    const buffer = new ArrayBuffer(2);
    const [numbers, patterns] = [new native(buffer), new Uint16Array(buffer)];
    fc.assert(
      fc.property(number, (value) => {
        numbers[0] = value;
        return numberToFloat16(value) === patterns[0];
      }),
      { numRuns: 100_000 },
    );
  });
});
