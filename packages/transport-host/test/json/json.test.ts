import { type DType, dtypes, type HostArray, hostArray, numberToFloat16 } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { json } from "../../src/index.js";
import { failureOf, memoryTaken, pieces, received, receivedArray, tesseractError, textOf } from "../support.js";

const { NaN: nan, POSITIVE_INFINITY: inf } = Number;

const array = (buffer: unknown, dtype: DType, shape: readonly number[]) =>
  receivedArray({ buffer, dtype, shape, encoding: "json" });

async function decode(buffer: unknown, dtype: DType, shape: readonly number[]): Promise<HostArray> {
  const [decoded] = await json().decode([array(buffer, dtype, shape)], {});
  if (decoded === undefined) throw new Error("No array");
  return decoded;
}

const entries = async (buffer: unknown, dtype: DType, shape?: readonly number[]): Promise<unknown[]> => {
  const sizes = shape ?? (Array.isArray(buffer) ? [buffer.length] : []);
  return Array.from<unknown>((await decode(buffer, dtype, sizes)).data);
};

const refusal = (buffer: unknown, dtype: DType, shape: readonly number[]) =>
  failureOf(() => decode(buffer, dtype, shape));

/** The `buffer` that an array is sent with, as text. */
async function sent(sending: HostArray): Promise<string> {
  const { arrays } = await json().encode([sending], { compression: "none" });
  const text = await textOf(arrays);
  expect(text).toContain('"encoding":"json"');
  const start = text.indexOf('"buffer":') + 9;
  return text.slice(start, text.lastIndexOf("}}]"));
}

describe("reading", () => {
  test.each<[DType, unknown[], unknown[]]>([
    ["float16", [1.5, -0, 65504, 1e-8], [numberToFloat16(1.5), 0x8000, 0x7bff, 0]],
    ["float32", [1.5, -0, 16777217], [1.5, -0, 16777216]],
    ["float64", [1.5, -0, 2n ** 60n, 5e-324], [1.5, -0, 2 ** 60, 5e-324]],
    ["int8", [-128, 127, -0, 1e2], [-128, 127, 0, 100]],
    ["int16", [-32768, 32767], [-32768, 32767]],
    ["int32", [-(2 ** 31), 2 ** 31 - 1], [-(2 ** 31), 2 ** 31 - 1]],
    ["int64", [-(2n ** 63n), 2n ** 63n - 1n, 5, 1e18, -0], [-(2n ** 63n), 2n ** 63n - 1n, 5n, 10n ** 18n, 0n]],
    ["uint8", [0, 255], [0, 255]],
    ["uint16", [0, 65535], [0, 65535]],
    ["uint32", [0, 2 ** 32 - 1], [0, 2 ** 32 - 1]],
    ["uint64", [0, 2n ** 64n - 1n], [0n, 2n ** 64n - 1n]],
    ["bool", [true, false], [1, 0]],
    ["complex64", ["1+2j", 3], [1, 2, 3, 0]],
    ["complex128", ["1-2.5j", -0, null], [1, -2.5, -0, 0, nan, nan]],
  ])("%s", async (dtype, buffer, expected) => {
    expect(await entries(buffer, dtype)).toEqual(expected);
    expect(await entries(buffer[0], dtype, [])).toEqual(expected.slice(0, dtype.startsWith("complex") ? 2 : 1));
    expect(await entries([[buffer]], dtype, [1, 1, buffer.length])).toEqual(expected);
  });

  test("null as NaN, where the dtype has one", async () => {
    expect(await entries([null, 1], "float64")).toEqual([nan, 1]);
    expect(await entries(null, "float32", [])).toEqual([nan]);
    expect(await entries([null], "float16")).toEqual([0x7e00]);
    expect(await entries([nan, inf, -inf], "float64")).toEqual([nan, inf, -inf]);
    for (const dtype of ["int32", "uint64", "bool"] as const) {
      expect(await refusal([null], dtype, [1])).toEqual(tesseractError("DECODE_FAILED", "null"));
    }
  });

  test.each<[string, number, number]>([
    ["1+2j", 1, 2],
    ["(1+2j)", 1, 2],
    ["-1.5-2.25j", -1.5, -2.25],
    ["1j", 0, 1],
    ["-1j", 0, -1],
    ["NaNj", 0, nan],
    ["nan+nanj", nan, nan],
    ["1-infj", 1, -inf],
    ["inf+infj", inf, inf],
    ["-Infinity-Infinityj", -inf, -inf],
    ["1e5+2E-3j", 1e5, 2e-3],
    ["1.e+2-.5j", 100, -0.5],
    ["-0-0j", -0, -0],
    ["0.1+1e-320j", 0.1, 1e-320],
    ["1e400+0j", inf, 0],
    ["+1+1J", 1, 1],
  ])("the complex number %s", async (text, real, imaginary) => {
    expect(await entries([text], "complex128")).toEqual([real, imaginary]);
  });

  test.each([
    "",
    "j",
    "1",
    "1+2",
    "1 + 2j",
    "1+2i",
    "1+j2",
    "1++2j",
    "1+-2j",
    "a+bj",
    "1+2jj",
    "0x1+2j",
    "1_0+2j",
    ".+1j",
    "1e+2j+",
    "infinit+1j",
    // Python writes a number without a real part without parentheses.
    "(0.5j)",
    "1+2j\n",
    "١+٢j",
    "[1,2]",
  ])("no complex number of %j", async (text) => {
    expect(await refusal([text], "complex64", [1])).toEqual(tesseractError("DECODE_FAILED", "y: "));
  });

  test("no complex number of a long text takes long", async () => {
    for (const text of [
      "1".repeat(1_000_000),
      `${"1".repeat(500_000)}+${"1".repeat(500_000)}`,
      "1e".repeat(200_000),
      "(".repeat(1e6),
    ]) {
      expect(await refusal([text], "complex128", [1])).toEqual(tesseractError("DECODE_FAILED"));
    }
  });

  test.each<[DType, unknown[]]>([
    ["float64", ["1", true, [1], {}, { toString: 1 }, undefined]],
    ["float16", ["NaN", false]],
    ["int8", [128, -129, 1.5, "1", true, null, 5n, nan, inf, 1e300, [], { toString: 1 }]],
    ["int32", [2 ** 31, -(2 ** 31) - 1, 0.5]],
    ["int64", [2n ** 63n, -(2n ** 63n) - 1n, 1e19, 0.5, nan, inf, "1", true]],
    ["uint8", [-1, 256, 0.1]],
    ["uint32", [-1, 2 ** 32]],
    ["uint64", [-1, -1n, 2n ** 64n, 1e20, 1.5]],
    ["bool", [0, 1, "true", null, [true]]],
    ["complex64", [true, [1, 2], { real: 1 }, { toString: 1 }, 5n]],
  ])("nothing of %s that isn't one", async (dtype, values) => {
    for (const value of values) {
      expect(await refusal([value], dtype, [1])).toEqual(tesseractError("DECODE_FAILED", "y: ", dtype));
      expect(await refusal(value, dtype, [])).toEqual(tesseractError("DECODE_FAILED", "y: ", dtype));
    }
  });

  test.each<[string, unknown, readonly number[]]>([
    ["too short", [1, 2], [3]],
    ["too long", [1, 2, 3, 4], [3]],
    ["of unequal rows", [[1, 2], [3]], [2, 2]],
    [
      "with a row too long",
      [
        [1, 2],
        [3, 4, 5],
      ],
      [2, 2],
    ],
    ["with a row that is a number", [[1, 2], 3], [2, 2]],
    ["with a row that is null", [null, [1, 2]], [2, 2]],
    ["too flat", [1, 2, 3, 4], [2, 2]],
    ["too deep", [[1], [2]], [2]],
    ["instead of a number", [1], []],
    ["instead of a list", 1, [1]],
    ["null", null, [1]],
    ["an object", { 0: 1, length: 1 }, [1]],
    ["a string", "1", [1]],
    ["bytes", new Uint8Array(2), [2]],
    ["not empty", [1], [0]],
    ["empty", [], [1]],
    ["empty in the second dimension only", [], [2, 0]],
    ["with rows where there are none", [[]], [0, 1]],
  ])("no lists that are %s", async (_, buffer, shape) => {
    expect(await refusal(buffer, "float64", shape)).toEqual(tesseractError("DECODE_FAILED", "y: "));
  });

  test("arrays without elements", async () => {
    expect(await decode([], "float64", [0])).toEqual(hostArray(new Float64Array(0)));
    expect(await decode([], "float64", [0, 3])).toMatchObject({ shape: [0, 3] });
    expect(await decode([[], []], "int64", [2, 0])).toMatchObject({ shape: [2, 0] });
    expect(await decode([[[], []]], "complex64", [1, 2, 0, 5])).toMatchObject({ shape: [1, 2, 0, 5] });
  });

  test("takes no memory for elements that the lists can't have", async () => {
    const taken = await memoryTaken(async () => {
      for (const shape of [[10 ** 12], [10 ** 6, 10 ** 6], [2, 10 ** 12], [3, 2 ** 40]]) {
        expect(await refusal([1, 2, 3], "float64", shape)).toEqual(tesseractError("DECODE_FAILED"));
        expect(await refusal([[1, 2], 3], "complex64", shape)).toEqual(tesseractError("DECODE_FAILED"));
      }
    });
    expect(taken).toBeLessThan(1 << 20);
  });

  test("fails with a typed error where there is no such memory", async () => {
    // Only the first rows are as long as the shape says.
    let lists: unknown[] = new Array(1000).fill(1);
    for (let i = 0; i < 4; i++) lists = [lists, ...new Array(999).fill(null)];
    expect(await refusal(lists, "float64", [1000, 1000, 1000, 1000, 1000])).toEqual(tesseractError("DECODE_FAILED"));
  });

  test("lists that are cut anywhere in the text", async () => {
    const text = JSON.stringify([
      {
        object_type: "array",
        shape: [2, 3],
        dtype: "float64",
        data: {
          buffer: [
            [1.5, -2, 3e-7],
            [4, 1e21, -0.1],
          ],
          encoding: "json",
        },
      },
      { object_type: "array", shape: [], dtype: "complex128", data: { buffer: "1+2j", encoding: "raw" } },
    ]);
    for (const most of [1, 2, 3, 7, 1000]) {
      expect(await received(json(), pieces(new TextEncoder().encode(text), most))).toEqual([
        hostArray(new Float64Array([1.5, -2, 3e-7, 4, 1e21, -0.1]), { shape: [2, 3] }),
        hostArray(new Float64Array([1, 2]), { dtype: "complex128", shape: [] }),
      ]);
    }
  });

  test("ends when it is aborted", async () => {
    const controller = new AbortController();
    const row = new Array<number>(1 << 20).fill(1);
    const work = json().decode([array(Array(64).fill(row), "float64", [64, 1 << 20])], { signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(work).rejects.toThrow("enough");
  });
});

describe("sending", () => {
  test("lists as deep as the array has dimensions", async () => {
    const numbers = hostArray(new Int32Array([1, -2, 3, 4, 5, 6]), { shape: [1, 2, 3] });
    expect(await sent(numbers)).toBe("[[[1,-2,3],[4,5,6]]]");
    expect(await sent(hostArray(new Int32Array([7]), { shape: [] }))).toBe("7");
    expect(await sent(hostArray(new Int32Array(0), { shape: [0, 3] }))).toBe("[]");
    expect(await sent(hostArray(new Int32Array(0), { shape: [2, 0] }))).toBe("[[],[]]");
  });

  test("floats that a reader can't take for integers", async () => {
    expect(await sent(hostArray(new Float64Array([1, -0, 0, 1e21, -5e-324, 0.1, 2 ** 53])))).toBe(
      "[1.0,-0.0,0.0,1e+21,-5e-324,0.1,9007199254740992.0]",
    );
    expect(await sent(hostArray(new Float32Array([0.1, 16777216])))).toBe("[0.10000000149011612,16777216.0]");
    expect(await sent(hostArray([1.5, -0, 65504], { dtype: "float16" }))).toBe("[1.5,-0.0,65504.0]");
  });

  test("integers with all their digits", async () => {
    const least = new BigInt64Array([-(2n ** 63n), 2n ** 63n - 1n, 0n]);
    expect(await sent(hostArray(least))).toBe("[-9223372036854775808,9223372036854775807,0]");
    expect(await sent(hostArray(new BigUint64Array([2n ** 63n - 1n])))).toBe("[9223372036854775807]");
    expect(await sent(hostArray(new Uint8Array([0, 255])))).toBe("[0,255]");
  });

  test("booleans and complex numbers as Python has them", async () => {
    expect(await sent(hostArray([true, false]))).toBe("[true,false]");
    const parts = new Float64Array([1, 2, -0.5, -0, 0, 1e-7]);
    expect(await sent(hostArray(parts, { dtype: "complex128" }))).toBe('["1.0+2.0j","-0.5-0.0j","0.0+1e-7j"]');
  });

  test.each<[string, HostArray]>([
    ["a NaN", hostArray(new Float64Array([1, nan]))],
    ["an infinity", hostArray(new Float32Array([1, inf]))],
    ["a NaN in half precision", hostArray([nan], { dtype: "float16" })],
    ["an infinity in half precision", hostArray([-inf], { dtype: "float16" })],
    ["an infinite imaginary part", hostArray(new Float32Array([1, -inf]), { dtype: "complex64" })],
    ["an integer from 2^63 on", hostArray(new BigUint64Array([0n, 2n ** 63n]))],
    ["a NaN behind many numbers", hostArray(new Float64Array(200_000).fill(nan, 199_999))],
  ])("an array with %s as base64", async (_, lossy) => {
    const { arrays } = await json().encode([lossy, hostArray(new Float64Array([1]))], { compression: "none" });
    expect(arrays.map(({ data }) => data.encoding)).toEqual(["base64", "json"]);
    expect(arrays[0]).toMatchObject({ shape: lossy.shape, dtype: lossy.dtype });
  });

  test("large arrays in pieces, of which none is large", async () => {
    const values = Array.from({ length: 100_000 }, (_, i) => i / 7);
    const numbers = hostArray(new Float64Array(values), { shape: [100_000, 1] });
    const { arrays } = await json().encode([numbers], { compression: "none" });
    const source = arrays[0]?.data.buffer;
    if (typeof source !== "object" || source === null || !("chunks" in source)) throw new Error("No source of text");
    const { chunks } = source as { chunks(): Iterable<Uint8Array> };
    const lengths = Array.from(chunks.call(source), ({ length }) => length);
    expect(lengths.length).toBeGreaterThan(10);
    expect(Math.max(...lengths)).toBeLessThan(1 << 17);
    expect(JSON.parse(await sent(numbers))).toEqual(values.map((value) => [value]));
  });

  test.each([...dtypes])("%s whose length is known, where it is small", async (dtype) => {
    const values = new Array(6).fill(0);
    const numbers = dtype.startsWith("complex")
      ? hostArray(dtype === "complex64" ? new Float32Array(6) : new Float64Array(6), { dtype })
      : hostArray(dtype === "bool" ? values.map(() => true) : values, { dtype });
    const { arrays } = await json().encode([numbers], { compression: "none" });
    const { length } = await sent(numbers);
    expect(arrays[0]?.data.buffer).toMatchObject({ byteLength: length });
  });
});
