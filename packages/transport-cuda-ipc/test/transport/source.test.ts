import { type CudaArray, TesseractError } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { readSource } from "../../src/transport/source.js";

type Interface = Record<string, unknown>;

const array = (changes: Interface = {}): CudaArray =>
  ({
    cudaArrayInterface: { shape: [2, 3], typestr: "<f4", data: [4096n, false], version: 3, ...changes },
  }) as unknown as CudaArray;

function refusal(changes: Interface): TesseractError {
  try {
    readSource(array(changes), "GPU array 1 of 1");
  } catch (error) {
    if (error instanceof TesseractError) return error;
    throw error;
  }
  throw new Error("Nothing was refused");
}

describe("a CUDA array", () => {
  test("says where its elements are, and what must have ended before", () => {
    expect(readSource(array({ stream: 1 }), "x")).toMatchObject({
      shape: [2, 3],
      dtype: "float32",
      bytes: 24,
      pointer: 4096n,
      strides: undefined,
      stream: 1,
    });
    expect(readSource(array(), "x").stream).toBeNull();
  });

  test.each<[string, Interface, boolean]>([
    ["C order", { strides: [12, 4] }, false],
    ["no strides", { strides: null }, false],
    ["any stride along a dimension of one element", { shape: [1, 6], strides: [999, 4] }, false],
    ["columns first", { strides: [4, 8] }, true],
    ["gaps", { strides: [24, 8] }, true],
    ["a reversed dimension", { strides: [12, -4] }, true],
    ["a repeated dimension", { strides: [0, 4] }, true],
    ["any strides without elements", { shape: [0, 3], strides: [7, 9] }, false],
  ])("with %s is copied first: %#", (_, changes, strided) => {
    expect(readSource(array(changes), "x").strides !== undefined).toBe(strided);
  });

  test("without elements may have no address", () => {
    for (const pointer of [0n, null, 0]) {
      expect(readSource(array({ shape: [0], data: [pointer, false] }), "x")).toMatchObject({ bytes: 0, pointer: 0n });
    }
  });

  test.each<[string, Interface, string, string]>([
    ["a null pointer and a size", { data: [0n, false] }, "INVALID_ARRAY", "24 bytes"],
    ["a negative address", { data: [-1n, false] }, "INVALID_ARRAY", "address"],
    ["an address of more than 64 bits", { data: [2n ** 64n, false] }, "INVALID_ARRAY", "address"],
    ["an address that isn't one", { data: ["4096", false] }, "INVALID_ARRAY", "address"],
    ["no address", { data: 4096n }, "INVALID_ARRAY", "address"],
    ["an unknown typestr", { typestr: "<V2" }, "UNSUPPORTED_DTYPE", "<V2"],
    ["big-endian elements", { typestr: ">f4" }, "UNSUPPORTED_DTYPE", ">f4"],
    ["an unknown version", { version: 4 }, "INVALID_ARRAY", "version 4"],
    ["an old version", { version: 2 }, "INVALID_ARRAY", "version 2"],
    ["a negative dimension", { shape: [-1] }, "INVALID_ARRAY", "shape"],
    ["a shape that isn't one", { shape: "12" }, "INVALID_ARRAY", "shape"],
    ["a shape beyond all memory", { shape: [2 ** 40, 2 ** 40] }, "INVALID_ARRAY", "too large"],
    ["strides for another rank", { strides: [4] }, "INVALID_ARRAY", "strides"],
    ["strides that are no numbers", { strides: [Number.NaN, 4] }, "INVALID_ARRAY", "strides"],
    ["a mask", { mask: {} }, "INVALID_ARRAY", "mask"],
    ["stream 0", { stream: 0 }, "INVALID_ARRAY", "stream"],
  ])("with %s is refused", (_, changes, code, words) => {
    const error = refusal(changes);
    expect(error.code).toBe(code);
    expect(error.message).toContain(words);
  });
});
