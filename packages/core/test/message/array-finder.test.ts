import createView from "ndarray";
import { expect, test } from "vitest";
import type { ArrayAdapter } from "../../src/adapters/adapter.js";
import { hostArray } from "../../src/arrays/host-array.js";
import { ArrayFinder } from "../../src/message/array-finder.js";
import { replaceArrays } from "../../src/message/leaves.js";
import { failureOf, tesseractError } from "../support.js";

/** The tree with each array replaced by its shape and dtype, and how often it was walked: twice where something was loaded. */
async function found(tree: unknown, finder = new ArrayFinder([])): Promise<{ tree: unknown; walks: number }> {
  let walks = 0;
  const mapped = await finder.use((find) => {
    walks += 1;
    return replaceArrays(tree, find, ({ dtype, shape }) => `${dtype}[${shape}]`);
  });
  return { tree: mapped, walks };
}

class Point {
  readonly x = 1;
}
const points: ArrayAdapter = {
  name: "points",
  adapt: (value) =>
    "x" in value ? { dtype: "float64", shape: [], read: () => hostArray(Number(value.x)) } : undefined,
};

test("nothing is loaded for plain values, typed arrays and host arrays", async () => {
  const tree = {
    a: new Float32Array(2),
    b: hostArray([1, 2, 3]),
    c: [{ d: "e", f: [1, null] }],
    g: Object.create(null),
  };
  expect(await found(tree)).toEqual({
    tree: { a: "float32[2]", b: "float64[3]", c: [{ d: "e", f: [1, null] }], g: {} },
    walks: 1,
  });
});

test("arrays of other libraries are found once what knows them is loaded, and then at once", async () => {
  const finder = new ArrayFinder([]);
  const tree = { x: createView(new Float32Array(6), [2, 3]) };
  expect(await found(tree, finder)).toEqual({ tree: { x: "float32[2,3]" }, walks: 2 });
  expect(await found(tree, finder)).toEqual({ tree: { x: "float32[2,3]" }, walks: 1 });
});

test.each(["cudaArrayInterface", "__cuda_array_interface__"])(
  "GPU arrays are found by %s, of no class",
  async (name) => {
    const x = { [name]: { shape: [2], typestr: "<f4", data: [0x1000n, false], version: 3 } };
    expect((await found({ x })).tree).toEqual({ x: "float32[2]" });
  },
);

test("the user's adapters see any object, after those that every Tesseract has", async () => {
  const seen: unknown[] = [];
  const watching: ArrayAdapter = { name: "watching", adapt: (value) => void seen.push(value) };
  const [view, point, plain] = [createView(new Float32Array(1)), new Point(), { x: 2 }];
  const finder = new ArrayFinder([watching, points]);
  expect((await found({ view, point, plain, y: 1 }, finder)).tree).toEqual({
    ...{ view: "float32[1]", point: "float64[]", plain: "float64[]", y: 1 },
  });
  expect(seen).toEqual([{ view, point, plain, y: 1 }, point, plain]);
});

test("what isn't an array of anything is refused as ever", async () => {
  expect(await failureOf(() => found({ at: [new Point()] }))).toEqual(
    tesseractError("INVALID_TREE", "at.[0]: a Point"),
  );
});
