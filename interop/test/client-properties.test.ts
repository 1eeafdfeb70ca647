// Whatever arrays and trees there are, a Tesseract that gives them back gives them back unchanged.

import { bytesOf, dtypes, elementCount, type HostArray, hostArray, itemSize, viewAs } from "@tesseract-ts/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asJsonAnswers, written } from "../src/array-values.js";
import { sharedClient } from "../src/connect.js";
import type { Identity, Leaf, Trees } from "../src/fixture-types.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const RUNS = 15;

const encodings = [
  { outputFormat: "json", compression: "none" },
  { outputFormat: "json+base64", compression: "none" },
  { outputFormat: "json+base64", compression: "lz4" },
  { outputFormat: "json+binref", compression: "none" },
  { outputFormat: "json+binref", compression: "lz4" },
] as const;

const shapes = fc.array(fc.nat({ max: 5 }), { maxLength: 4 });

/** Any bit pattern that the dtype has. Half of the arrays repeat themselves, so that there is something to compress. */
const arrays: fc.Arbitrary<HostArray> = fc
  .record({ dtype: fc.constantFrom(...dtypes), shape: shapes })
  .chain(({ dtype, shape }) => {
    const length = elementCount(shape) * itemSize(dtype);
    const byte = fc.nat({ max: dtype === "bool" ? 1 : 255 });
    const any = fc.array(byte, { minLength: length, maxLength: length });
    const repeated = fc.array(byte, { minLength: 1, maxLength: 9 }).map((unit) => {
      return Array.from({ length }, (_, index) => unit[index % unit.length] as number);
    });
    return fc
      .oneof(any, repeated)
      .map((bytes) => hostArray(viewAs(dtype, Uint8Array.from(bytes).buffer), { dtype, shape }));
  });

/** The reader refuses a member that would reach an object's prototype. */
const keys = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }).filter((key) => key !== "__proto__"),
  fc.constantFrom("", "constructor", "toString", "prototype", "a.b", "{c}", "[0]", "\\", "object_type", "0", "\u0000"),
);

const dictOf = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc
    .uniqueArray(fc.tuple(keys, values), { maxLength: 4, selector: ([key]) => key })
    .map((members) => Object.fromEntries(members));

const float64s = (shape: fc.Arbitrary<number[]>): fc.Arbitrary<HostArray<"float64">> =>
  shape.chain((sizes) => {
    const length = elementCount(sizes);
    return fc
      .float64Array({ minLength: length, maxLength: length })
      .map((data) => hostArray<"float64">(data, { shape: sizes }));
  });

const leaves: fc.Arbitrary<Leaf> = fc.record({
  x: float64s(fc.tuple(fc.nat({ max: 5 }))),
  label: fc.string({ unit: "binary", maxLength: 20 }),
});

const trees = fc.record({
  branch: fc.record({ left: leaves, right: fc.option(leaves) }),
  stack: fc.array(float64s(shapes), { maxLength: 3 }),
  leaves: fc.array(leaves, { maxLength: 3 }),
  pair: fc.option(
    fc.tuple(
      float64s(fc.constant([])),
      fc.int32Array({ maxLength: 4 }).map((data) => hostArray(data)),
    ),
  ),
  params: dictOf(float64s(shapes)),
  models: dictOf(leaves),
  grid: dictOf(fc.array(fc.array(float64s(shapes), { maxLength: 2 }), { maxLength: 2 })),
  maybe: fc.option(float64s(fc.tuple(fc.nat({ max: 3 })))),
  text: fc.string({ unit: "binary", maxLength: 300 }),
  count: fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map(asRead)),
  big_count: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => hostArray(value, { dtype: "int64" })),
  ratio: fc.double({ noNaN: true, noDefaultInfinity: true }),
  flag: fc.boolean(),
  mode: fc.constantFrom("fast", "exact"),
  notes: dictOf(fc.oneof(fc.string({ unit: "binary" }), fc.maxSafeInteger(), fc.boolean(), fc.constant(null))),
});

/** A whole number as the client reads it: a bigint only where a number wouldn't be exact. */
function asRead(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** A tree with each array written out, so that trees can be compared bit by bit. */
function writtenTree(value: unknown, carried: (array: HostArray) => HostArray): unknown {
  if (Array.isArray(value)) return value.map((item) => writtenTree(item, carried));
  if (typeof value !== "object" || value === null) return value;
  if ("data" in value && ArrayBuffer.isView(value.data)) return written(carried(value as HostArray));
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, writtenTree(member, carried)]));
}

const unchanged = (array: HostArray): HostArray => array;

const runtimes = sharedRuntimes({ identity: { fixture: "identity" }, trees: { fixture: "trees" } });

describeWithRuntime("1.15", "for all", () => {
  const identity = sharedClient<Identity>(runtimes.identity);
  const givenBack = sharedClient<Trees>(runtimes.trees);

  describe.each(encodings)("in $outputFormat, $compression,", (encoding) => {
    const carried = encoding.outputFormat === "json" ? asJsonAnswers : unchanged;

    test("lists of arrays come back bit for bit", async () => {
      const client = identity().withEncoding(encoding);
      await fc.assert(
        fc.asyncProperty(fc.array(arrays, { minLength: 1, maxLength: 12 }), async (sent) => {
          const received = await client.apply({ arrays: sent });
          expect(received.arrays.map(written)).toEqual(sent.map(carried).map(written));
        }),
        { numRuns: RUNS },
      );
    });

    test("dicts of arrays come back under their keys", async () => {
      const client = identity().withEncoding(encoding);
      await fc.assert(
        fc.asyncProperty(dictOf(arrays), async (sent) => {
          const { named } = await client.apply({ named: sent });
          expect(writtenTree(named, unchanged)).toEqual(writtenTree(sent, carried));
        }),
        { numRuns: RUNS },
      );
    });

    test("trees come back as they were", async () => {
      const client = givenBack().withEncoding(encoding);
      await fc.assert(
        fc.asyncProperty(trees, async (sent) => {
          const { keys: found, array_or_text, preset, shape, ...received } = await client.apply(sent);
          expect(writtenTree(received, unchanged)).toEqual(writtenTree(sent, carried));
          const dicts = [sent.params, sent.models, sent.grid];
          expect(found).toEqual(dicts.flatMap((dict) => Object.keys(dict)));
        }),
        { numRuns: RUNS },
      );
    });
  });

  test("an answer shares no memory with what was sent", async () => {
    await fc.assert(
      fc.asyncProperty(arrays, async (sent) => {
        const before = bytesOf(sent).slice();
        const [received] = (await identity().apply({ arrays: [sent] })).arrays;
        bytesOf(received as HostArray).fill(1);
        expect(bytesOf(sent)).toEqual(before);
      }),
      { numRuns: RUNS },
    );
  });
});
