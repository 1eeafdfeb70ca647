import { hostArray } from "@tesseract-ts/core";
import { expect, test, vi } from "vitest";
import { base64, binref, json } from "../src/index.js";
import { failureOf, receivedArray, tesseractError, textOf } from "./support.js";

// The bytes of a word whose lowest byte is 1, as a big-endian machine has them.
const swapped = new Uint16Array(Uint8Array.of(0, 1).buffer);

vi.mock(import("../src/endianness.js"), async (importOriginal) => {
  const original = await importOriginal();
  const bytes = new Uint16Array(Uint8Array.of(0, 1).buffer);
  return {
    endianness: () => original.endianness(bytes),
    refuseBigEndian: () => original.refuseBigEndian(original.endianness(bytes)),
  };
});

const folder = { inputPath: "/nowhere", outputPath: "/nowhere" };
const numbers = hostArray(new Float64Array([1, 2]));
const context = { compression: "none" } as const;

test("a machine's endianness shows in the bytes of a word", async () => {
  const { endianness, refuseBigEndian } =
    await vi.importActual<typeof import("../src/endianness.js")>("../src/endianness.js");
  expect(endianness()).toEqual({ ok: true });
  expect(endianness(swapped)).toMatchObject({ ok: false, reason: expect.stringContaining("big-endian") });
  expect(() => refuseBigEndian()).not.toThrow();
  expect(await failureOf(() => refuseBigEndian(endianness(swapped)))).toEqual(tesseractError("UNSUPPORTED_PLATFORM"));
});

test.each([base64(), binref(folder)])("on a big-endian machine, $name can't be used", async (transport) => {
  expect(await transport.probe()).toMatchObject({ ok: false, reason: expect.stringContaining("big-endian") });
  expect(await failureOf(() => transport.encode([numbers], context))).toEqual(tesseractError("UNSUPPORTED_PLATFORM"));
  const array = receivedArray({ shape: [1], dtype: "float64", buffer: "AAAAAAAA8D8=", encoding: transport.name });
  expect(await failureOf(() => transport.decode([array], {}))).toEqual(tesseractError("UNSUPPORTED_PLATFORM"));
});

test("on a big-endian machine, json can be used for all but what it would send as base64", async () => {
  expect(await json().probe()).toEqual({ ok: true });
  const { arrays } = await json().encode([numbers], context);
  expect(JSON.parse(await textOf(arrays))).toMatchObject([{ data: { buffer: [1, 2] } }]);
  const lists = receivedArray({ shape: [2], dtype: "float64", buffer: [1, 2], encoding: "json" });
  expect(await json().decode([lists], {})).toEqual([numbers]);
  const lossy = hostArray(new Float64Array([Number.NaN]));
  expect(await failureOf(() => json().encode([lossy], context))).toEqual(tesseractError("UNSUPPORTED_PLATFORM"));
});
