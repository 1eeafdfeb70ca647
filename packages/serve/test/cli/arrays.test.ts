// How arrays are shown and written.

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dtypes, hostArray } from "@tesseract-ts/core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonText } from "../../src/cli/arrays/as-json.js";
import { npyHeader, npyNames, writeArrays } from "../../src/cli/arrays/npy.js";
import { arrayText, summaryOf, treeLines } from "../../src/cli/arrays/summary.js";
import { bytesText, numberText, timeText } from "../../src/cli/terminal/amounts.js";

const plain = (_: string, text: string): string => text;

test("an array is shown by dtype, shape, least, largest and mean value, and its first values", () => {
  const array = hostArray(
    Float64Array.from({ length: 12 }, (_, index) => index / 4),
    { shape: [3, 4] },
  );
  expect(arrayText(array, plain)).toBe("float64 [3, 4]  min 0  max 2.75  mean 1.375  0, 0.25, 0.5, 0.75, 1, 1.25, …");
});

test("a scalar is shown by its value, an empty array by its shape", () => {
  expect(arrayText(hostArray(2.5), plain)).toBe("float64 []  2.5");
  expect(arrayText(hostArray(new Float32Array(0), { shape: [0, 3] }), plain)).toBe("float32 [0, 3]  ");
});

test("integers, truth values, complex and half numbers are shown as what they are", () => {
  expect(arrayText(hostArray(BigInt64Array.of(2n ** 62n, 1n)), plain)).toContain("4611686018427387904, 1");
  expect(arrayText(hostArray([true, false]), plain)).toBe("bool [2]  true, false");
  const complex = hostArray(Float64Array.of(3, -4, 0, 1), { dtype: "complex128" });
  expect(arrayText(complex, plain)).toBe("complex128 [2]  min |1|  max |5|  mean |3|  3-4j, 0+1j");
  expect(arrayText(hostArray([0.5, 2], { dtype: "float16" }), plain)).toContain("0.5, 2");
});

test("what isn't finite is counted, and left out of the mean", () => {
  const summary = summaryOf(hostArray(Float64Array.of(1, Number.NaN, 3, Number.POSITIVE_INFINITY)));
  expect(summary).toMatchObject({ min: 1, max: 3, mean: 2, notFinite: 2 });
  expect(arrayText(hostArray(Float64Array.of(Number.NaN, Number.NaN)), plain)).toBe(
    "float64 [2]  2 not finite  NaN, NaN",
  );
});

test("a tree is shown leaf by leaf, with paths", () => {
  const tree = { y: hostArray([1, 2]), stats: { label: "a\u001bb", list: [1, null] }, empty: {} };
  expect(treeLines(tree, plain)).toEqual([
    "y  float64 [2]  min 1  max 2  mean 1.5  1, 2",
    'stats.label  "a\\u001bb"',
    "stats.list.[0]  1",
    "stats.list.[1]  null",
    "empty  {}",
  ]);
});

test("a .npy header is a multiple of 64 bytes and names dtype and shape", () => {
  for (const dtype of dtypes) {
    const header = npyHeader({ dtype, shape: [2, 3] });
    expect(header.length % 64).toBe(0);
    expect(header.subarray(0, 8)).toEqual(Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]));
    expect(header.readUInt16LE(8)).toBe(header.length - 10);
    expect(header.toString("latin1", 10)).toContain("'shape': (2, 3)");
  }
  expect(npyHeader({ dtype: "int8", shape: [5] }).toString("latin1")).toContain("'shape': (5,)");
  expect(npyHeader({ dtype: "bool", shape: [] }).toString("latin1")).toContain(
    "'descr': '|b1', 'fortran_order': False, 'shape': ()",
  );
});

test("arrays are written below the folder, whatever their paths are", async () => {
  const folder = await mkdtemp(join(tmpdir(), "tesseract-npy-"));
  try {
    const arrays = ["y", "../../etc/passwd", "a/b", "a b", "A_B", ".", "über.{k}"].map((path) => ({
      path,
      array: hostArray([1]),
    }));
    const files = await writeArrays(join(folder, "out"), arrays);
    expect(await readdir(folder)).toEqual(["out"]);
    expect((await readdir(join(folder, "out"))).length).toBe(arrays.length);
    expect((await readFile(files[0] ?? "")).readDoubleLE(64 * 2)).toBe(1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("no two arrays share a file, and none has a name that leaves the folder", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" })), (paths) => {
      const names = npyNames(paths);
      expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(paths.length);
      for (const name of names) expect(name).toMatch(/^[^./\\][^/\\]*\.npy$/u);
    }),
  );
});

test("JSON has lists where they lose nothing, and base64 otherwise", () => {
  const tree = {
    a: hostArray([[1, 2]]),
    b: hostArray([Number.NaN]),
    c: hostArray(BigUint64Array.of(2n ** 63n)),
    d: [1, "x", null],
    e: undefined,
  };
  const read: unknown = JSON.parse(jsonText(tree, { encoding: "json" }));
  expect(read).toMatchObject({
    a: { object_type: "array", shape: [1, 2], dtype: "float64", data: { encoding: "json", buffer: [[1, 2]] } },
    b: { data: { encoding: "base64", buffer: Buffer.from(Float64Array.of(Number.NaN).buffer).toString("base64") } },
    d: [1, "x", null],
  });
  expect(jsonText(tree, { encoding: "json" })).toContain("9223372036854775808");
  expect(jsonText(tree, { encoding: "base64", indent: 2 })).toContain('\n  "d": [1, "x", null]\n}');
});

test("amounts are short", () => {
  expect([0, 1.23456, -1e-9, 123456789, 0.5, Number.NaN].map(numberText)).toEqual([
    "0",
    "1.235",
    "-1e-9",
    "1.235e+8",
    "0.5",
    "NaN",
  ]);
  expect([0.1234, 999, 12345].map(timeText)).toEqual(["0.123 ms", "999 ms", "12.3 s"]);
  expect([12, 1600, 2.5e9].map(bytesText)).toEqual(["12 B", "1.6 kB", "2.5 GB"]);
});
