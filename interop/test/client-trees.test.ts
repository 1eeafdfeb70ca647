// Every form that inputs and outputs may have, there and back through `trees`, and the paths into them.

import { type HostArray, hostArray, type NestedList, TesseractError, toNestedList } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { sharedClient } from "../src/connect.js";
import type { Trees } from "../src/fixture-types.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const formats = ["json", "json+base64", "json+binref"] as const;

/** Keys that mean something elsewhere: in a path, in JSON, in a pattern, to JavaScript. */
const oddKeys = [
  "",
  " ",
  "a b",
  "a.b",
  "x.[0]",
  "[1]",
  "{",
  "}",
  "{c}",
  "\\",
  "\\}",
  '"quoted"',
  "new\nline",
  "\u0000",
  "ü",
  "😀",
  "0",
  "-1",
  "constructor",
  "toString",
  "hasOwnProperty",
  "prototype",
  "object_type",
  "shape",
  "data",
];

/** An answer with its arrays as nested lists, and the rest as it is. */
function asLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asLists);
  if (typeof value !== "object" || value === null) return value;
  if ("data" in value && ArrayBuffer.isView(value.data)) return toNestedList(value as HostArray);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, asLists(member)]));
}

const defaults = {
  branch: { left: { x: [1], label: "leaf" }, right: null },
  stack: [],
  leaves: [],
  pair: null,
  params: {},
  models: {},
  grid: {},
  maybe: null,
  preset: [1, 2, 3],
  array_or_text: "none",
  shape: null,
  text: "text",
  count: 1,
  big_count: 1n,
  ratio: 0.5,
  flag: true,
  mode: "fast",
  notes: {},
  keys: [],
};
const least = { branch: { left: { x: [1] } } };

const runtimes = sharedRuntimes({ trees: { fixture: "trees" }, vectors: { fixture: "vectors" } });

describeWithRuntime("1.15", "trees", () => {
  const client = sharedClient<Trees>(runtimes.trees);

  /** What comes back beside the defaults. */
  const givenBack = async (inputs: object, outputFormat = "json+base64"): Promise<unknown> =>
    asLists(
      await client()
        .withEncoding({ outputFormat })
        .apply({ ...least, ...inputs }),
    );

  describe.each(formats)("in %s", (outputFormat) => {
    const expectBack = async (inputs: object, expected: object = inputs): Promise<void> =>
      expect(await givenBack(inputs, outputFormat)).toEqual({ ...defaults, ...expected });

    test("what isn't given has its default", () => expectBack({}));

    test("nested models come back", () =>
      expectBack(
        {
          branch: {
            left: { x: new Float64Array([1, 2]), label: "left" },
            right: { x: hostArray([3]), label: "right" },
          },
        },
        { branch: { left: { x: [1, 2], label: "left" }, right: { x: [3], label: "right" } } },
      ));

    test("lists of arrays of different ranks come back, and lists of models", () =>
      expectBack(
        {
          stack: [hostArray(1), hostArray([1, 2]), hostArray([[[1], [2]]]), new Float64Array(0)],
          leaves: [
            { x: hostArray([1]), label: "a" },
            { x: hostArray([]), label: "" },
          ],
        },
        {
          stack: [1, [1, 2], [[[1], [2]]], []],
          leaves: [
            { x: [1], label: "a" },
            { x: [], label: "" },
          ],
        },
      ));

    test("dicts come back under any key", () => {
      const dictOf = <T>(value: (index: number) => T): Record<string, T> =>
        Object.fromEntries(oddKeys.map((key, index) => [key, value(index)]));
      const keys = Object.keys(dictOf(() => 0));
      return expectBack(
        {
          params: dictOf((index) => hostArray([index])),
          models: dictOf((index) => ({ x: hostArray([index]), label: "leaf" })),
          grid: dictOf((index) => [[hostArray(index), hostArray([index])], []]),
          notes: dictOf((index) => `${index}`),
        },
        {
          params: dictOf((index) => [index]),
          models: dictOf((index) => ({ x: [index], label: "leaf" })),
          grid: dictOf((index) => [[index, [index]], []]),
          notes: dictOf((index) => `${index}`),
          keys: [...keys, ...keys, ...keys],
        },
      );
    });

    test("tuples, optionals and unions come back in the form that was given", async () => {
      await expectBack(
        { pair: [hostArray(1.5), Int32Array.of(1, -2)], maybe: new Float64Array([4]), array_or_text: hostArray([[5]]) },
        { pair: [1.5, [1, -2]], maybe: [4], array_or_text: [[5]] },
      );
      await expectBack(
        { maybe: null, array_or_text: "text", shape: { kind: "circle", radius: hostArray(2) } },
        {
          array_or_text: "text",
          shape: { kind: "circle", radius: 2 },
        },
      );
      await expectBack({ shape: { kind: "square", side: 3 } });
    });
  });

  test.each<[string, unknown, NestedList]>([
    ["a typed array", new Float64Array([1, 2, 3]), [1, 2, 3]],
    ["a typed array of a narrower dtype", new Float32Array([1, 2, 3]), [1, 2, 3]],
    ["part of a larger buffer", new Float64Array([0, 1, 2, 3, 4]).subarray(1, 4), [1, 2, 3]],
    ["a HostArray", hostArray([1, 2, 3]), [1, 2, 3]],
    ["a nested list", [1, 2, 3], [1, 2, 3]],
    ["a list of whole and other numbers", [1, 2.5, -0], [1, 2.5, -0]],
  ])("an array may be given as %s", async (_, value, expected) => {
    expect(await givenBack({ preset: value })).toMatchObject({ preset: expected });
  });

  test("a scalar array may be given as a number, a bigint or an array of rank 0", async () => {
    const big = 2n ** 53n + 1n;
    for (const value of [big, hostArray(big), BigInt64Array.of(big)]) {
      const scalar = value instanceof BigInt64Array ? hostArray(value, { shape: [] }) : value;
      expect(await givenBack({ big_count: scalar })).toMatchObject({ big_count: big });
    }
    expect(await givenBack({ big_count: -(2n ** 63n) })).toMatchObject({ big_count: -(2n ** 63n) });
    expect(await givenBack({ big_count: 7 })).toMatchObject({ big_count: 7n });
  });

  test("whole numbers beyond 2^53 come back exactly, as bigints", async () => {
    for (const count of [2n ** 53n, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 64n - 1n]) {
      expect(await givenBack({ count, notes: { n: count } })).toMatchObject({ count, notes: { n: count } });
    }
    expect(await givenBack({ count: BigInt(Number.MAX_SAFE_INTEGER) })).toMatchObject({
      count: Number.MAX_SAFE_INTEGER,
    });
  });

  test.each([0.1, -0, 1e300, 5e-324, 1.7976931348623157e308, 1e21, 123456789.12345679])(
    "the plain number %d comes back exactly",
    async (ratio) => {
      expect(await givenBack({ ratio })).toMatchObject({ ratio });
    },
  );

  test("plain values come back with their types", async () => {
    const notes = { text: "1", int: 1, float: 1.5, yes: true, no: false, nothing: null, empty: "" };
    const plain = { text: "", flag: false, mode: "exact", notes };
    expect(await givenBack(plain)).toEqual({ ...defaults, ...plain });
  });

  test("text comes back whatever characters it has", async () => {
    const text = 'quotes " and \\ and / \b\f\n\r\t \u0000 \u001f \u007f \u2028 ü 漢 😀 \ufeff';
    expect(await givenBack({ text, params: { [text]: [1] } })).toMatchObject({
      text,
      params: { [text]: [1] },
      keys: [text],
    });
    const long = text.repeat(5000);
    expect(await givenBack({ text: long })).toMatchObject({ text: long });
  });

  test("members that are undefined are left out", async () => {
    expect(await givenBack({ maybe: undefined, text: undefined, notes: { a: undefined, b: 1 } })).toEqual({
      ...defaults,
      notes: { b: 1 },
    });
  });

  test("one array may stand in many places", async () => {
    const shared = new Float64Array([1, 2]);
    const leaf = { x: shared };
    const answer = await client().apply({ branch: { left: leaf, right: leaf }, stack: [shared, shared] });
    expect(asLists(answer)).toMatchObject({
      branch: { left: { x: [1, 2] }, right: { x: [1, 2] } },
      stack: [
        [1, 2],
        [1, 2],
      ],
    });
    expect(answer.stack[0]?.data.buffer).not.toBe(shared.buffer);
  });

  test("what can't be sent is refused with its place, before anything is sent", async () => {
    const codes = async (inputs: object): Promise<unknown> => {
      const error: unknown = await client()
        .apply({ ...least, ...inputs })
        .catch((reason: unknown) => reason);
      return error instanceof TesseractError ? `${error.code} ${error.message.split(":")[0]}` : error;
    };
    const cycle: { notes: Record<string, unknown> } = { notes: {} };
    cycle.notes.again = cycle;
    expect(await codes({ ratio: Number.NaN })).toBe("INVALID_TREE inputs.ratio");
    expect(await codes({ notes: { f: () => 1 } })).toBe("INVALID_TREE inputs.notes.f");
    expect(await codes({ stack: [new Date()] })).toBe("INVALID_TREE inputs.stack.[0]");
    expect(await codes(cycle)).toBe("INVALID_TREE inputs.notes.again.notes");
    expect(await codes({ stack: [{ dtype: "float64", shape: [3], data: new Float64Array(2) }] })).toBe(
      "INVALID_ARRAY inputs.stack.[0]",
    );
    expect(await codes({ maybe: { dtype: "bfloat16", shape: [1], data: new Uint16Array(1) } })).toBe(
      "UNSUPPORTED_DTYPE inputs.maybe",
    );
  });

  test("an answer with the member __proto__ is refused, since it would reach an object's prototype", async () => {
    const notes = Object.fromEntries([["__proto__", "value"]]);
    await expect(client().apply({ ...least, notes })).rejects.toMatchObject({ code: "MALFORMED_RESPONSE" });
  });

  test("abstractEval gives the tree of shapes and dtypes", async () => {
    const x = { shape: [7], dtype: "float64" };
    const answer = await client().abstractEval({
      branch: { left: { x } },
      params: Object.fromEntries(oddKeys.map((key) => [key, x])),
    });
    expect(answer).toMatchObject({
      branch: { left: { x } },
      params: Object.fromEntries(oddKeys.map((key) => [key, x])),
      keys: Object.keys(Object.fromEntries(oddKeys.map((key) => [key, x]))),
    });
  });
});

/** A key as it stands in a path, from runtime 1.13 on. */
const braced = (key: string): string => `{${key.replace(/[{}\\]/g, "\\$&")}}`;

describeWithRuntime("1.15", "paths into dicts and lists", () => {
  const client = sharedClient(runtimes.vectors);
  const inputs = {
    x: [1, 2],
    affine: { matrix: [[1, 2]], shift: [5] },
    terms: [new Float64Array([10, 20]), new Float64Array([30, 40])],
  };

  // An empty key has no path: the server's pattern asks for at least one character.
  test.each(oddKeys.filter((key) => key !== ""))("the key %j has a path", async (key) => {
    const path = `weights.${braced(key)}`;
    const output = `scaled.${braced(key)}`;
    const weights = { other: new Float32Array([0, 0]), [key]: new Float32Array([0.5, 0.25]) };
    const jacobian = await client().jacobian({ ...inputs, weights }, [path], [output]);
    expect(asLists(jacobian)).toEqual({
      [output]: {
        [path]: [
          [1, 0],
          [0, 2],
        ],
      },
    });
    const tangent = { [path]: new Float32Array([1, 1]) };
    const jvp = await client().jacobianVectorProduct({ ...inputs, weights }, [path], [output], tangent);
    expect(asLists(jvp)).toEqual({ [output]: [1, 2] });
    const cotangent = { [output]: new Float32Array([1, 1]) };
    const vjp = await client().vectorJacobianProduct({ ...inputs, weights }, [path], [output], cotangent);
    expect(asLists(vjp)).toEqual({ [path]: [1, 2] });
  });

  test("an item of a list has a path", async () => {
    const jacobian = await client().jacobian(inputs, ["terms.[1]", "affine.shift"], ["products.[1]"]);
    expect(asLists(jacobian)).toEqual({
      "products.[1]": {
        "terms.[1]": [
          [1, 0],
          [0, 2],
        ],
        "affine.shift": [[0], [0]],
      },
    });
  });
});
