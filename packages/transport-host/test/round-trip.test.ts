import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Compression, dtypes, hostArray, makeHostArray, viewAs } from "@tesseract-ts/core";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { base64, binref, host, json } from "../src/index.js";
import { anyArray, expectSameArrays, roundTrip, tameArray } from "./support.js";

const folder = mkdtempSync(join(tmpdir(), "tesseract-round-trip-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// What one side writes as its inputs, the other reads as outputs.
const transports = { base64: base64(), json: json(), binref: binref({ inputPath: folder, outputPath: folder }) };
const ways: [keyof typeof transports, Compression][] = [
  ["base64", "none"],
  ["base64", "lz4"],
  ["json", "none"],
  ["binref", "none"],
  ["binref", "lz4"],
];

describe.each(ways)("%s with compression %s", (name, compression) => {
  const transport = transports[name];

  test("gives back every array to the bit, in a text that is cut anywhere", async () => {
    // Arrays with entries that lists would lose are for the next test.
    const arrays = name === "json" ? tameArray : fc.oneof(anyArray, tameArray);
    await fc.assert(
      fc.asyncProperty(fc.array(arrays, { maxLength: 4 }), fc.integer({ min: 1, max: 300 }), async (sent, most) => {
        expectSameArrays(await roundTrip(transport, sent, { compression }, { most }), sent);
      }),
    );
  });

  test.each([...dtypes])("gives back %s without elements, of rank 0, and in the middle of a buffer", async (dtype) => {
    const buffer = new ArrayBuffer(64);
    const arrays = [
      makeHostArray(dtype, [0, 3], viewAs(dtype, buffer, 16, 0)),
      makeHostArray(dtype, [], viewAs(dtype, buffer, 16, 1)),
      makeHostArray(dtype, [1, 1, 2], viewAs(dtype, buffer, 32, 2)),
    ];
    expectSameArrays(await roundTrip(transport, arrays, { compression }), arrays);
  });

  test("gives back an array of a megabyte", async () => {
    const numbers = Float64Array.from({ length: 131_073 }, (_, i) => Math.sin(i) * 10 ** (i % 30));
    const sent = [hostArray(numbers, { shape: [3, 43_691] })];
    expectSameArrays(await roundTrip(transport, sent, { compression }), sent);
  });

  test("gives results that share no memory with what was sent, or with each other", async () => {
    const sent = [hostArray(new Float32Array([1, 2])), hostArray(new Float32Array([3, 4]))];
    const found = await roundTrip(transport, sent, { compression });
    for (const array of found) (array.data as Float32Array).fill(9);
    expect(sent.map(({ data }) => [...data])).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(found[0]?.data.buffer).not.toBe(found[1]?.data.buffer);
  });
});

test("json sends whatever it would lose as base64", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyArray, { maxLength: 4 }), async (sent) => {
      const { arrays } = await json().encode(sent, { compression: "none" });
      for (const [index, array] of sent.entries()) {
        const encoded = arrays.slice(index, index + 1);
        const text = { arrays: encoded };
        const receiver = text.arrays[0]?.data.encoding === "base64" ? base64() : json();
        expectSameArrays(await roundTrip({ ...json(), encode: async () => text }, [], undefined, { receiver }), [
          array,
        ]);
      }
    }),
  );
});

test("nothing is left in the folder of binref", () => {
  expect(readdirSync(folder)).toEqual([]);
});

test("host() has every transport once, base64 first", async () => {
  expect(host().map(({ name }) => name)).toEqual(["base64", "json", "binref"]);
  expect(await Promise.all(host().map((transport) => transport.probe()))).toMatchObject([
    { ok: true },
    { ok: true },
    { ok: false },
  ]);
  expect((await host({ outputPath: folder })[2]?.probe())?.ok).toBe(true);
});
