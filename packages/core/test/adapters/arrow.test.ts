import * as library from "apache-arrow";
import { describe, expect, test } from "vitest";
import { arrow } from "../../src/adapters/arrow.js";
import { toNestedList } from "../../src/arrays/host-array.js";
import { read } from "./read.js";

/** A column of lists of 3, over one typed array. */
function listsOf3(data: Float64Array): library.Vector {
  const type = new library.FixedSizeList(3, new library.Field("item", new library.Float64(), false));
  const child = library.makeData({ type: new library.Float64(), length: data.length, nullCount: 0, data });
  return library.makeVector(library.makeData({ type, length: data.length / 3, nullCount: 0, child }));
}

describe("an Apache Arrow vector", () => {
  test.each([
    ["float32", new Float32Array([1, 2])],
    ["float64", new Float64Array([1, 2])],
    ["int8", new Int8Array([1, 2])],
    ["int16", new Int16Array([1, 2])],
    ["int32", new Int32Array([1, 2])],
    ["int64", new BigInt64Array([1n, 2n])],
    ["uint8", new Uint8Array([1, 2])],
    ["uint16", new Uint16Array([1, 2])],
    ["uint32", new Uint32Array([1, 2])],
    ["uint64", new BigUint64Array([1n, 2n])],
  ] as const)("of %s is read in place", async (dtype, data) => {
    const host = await read(arrow, library.makeVector(data as Float64Array));
    expect(host).toEqual({ dtype, shape: [2], data });
    expect(host.data.buffer).toBe(data.buffer);
  });

  test("of float16 has bit patterns", async () => {
    const data = new Uint16Array([0x3c00, 0xc100]);
    const vector = library.makeVector(library.makeData({ type: new library.Float16(), length: 2, nullCount: 0, data }));
    expect(toNestedList(await read(arrow, vector))).toEqual([1, -2.5]);
    expect((await read(arrow, vector)).data.buffer).toBe(data.buffer);
  });

  test("of booleans has a byte for each, wherever it begins", async () => {
    const list = Array.from({ length: 21 }, (_, index) => index % 3 === 0);
    const vector = library.vectorFromArray(list, new library.Bool());
    expect(toNestedList(await read(arrow, vector))).toEqual(list);
    expect(toNestedList(await read(arrow, vector.slice(5, 17)))).toEqual(list.slice(5, 17));
  });

  test("of lists of one size has two dimensions, and is read in place", async () => {
    const data = new Float64Array([1, 2, 3, 4, 5, 6]);
    const host = await read(arrow, listsOf3(data));
    expect(host).toEqual({ dtype: "float64", shape: [2, 3], data });
    expect(host.data.buffer).toBe(data.buffer);
  });

  test("that is a slice is read in place", async () => {
    const data = new Float64Array([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const rows = await read(arrow, listsOf3(data).slice(1, 3));
    expect(rows).toMatchObject({ shape: [2, 3], data: new Float64Array([4, 5, 6, 7, 8, 9]) });
    expect(rows.data.buffer).toBe(data.buffer);
    expect((await read(arrow, library.makeVector(data).slice(2, 4))).data).toEqual(new Float64Array([3, 4]));
  });

  test("of several chunks is put together", async () => {
    const column = library.makeVector(new Int16Array([1, 2])).concat(library.makeVector(new Int16Array([3])));
    expect(column.data).toHaveLength(2);
    expect(await read(arrow, column)).toEqual({ dtype: "int16", shape: [3], data: new Int16Array([1, 2, 3]) });
    const lists = listsOf3(new Float64Array([1, 2, 3])).concat(listsOf3(new Float64Array([4, 5, 6])));
    expect(toNestedList(await read(arrow, lists))).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });

  test("without elements has a size of 0", async () => {
    expect(await read(arrow, library.makeVector(new Float32Array(0)))).toMatchObject({ dtype: "float32", shape: [0] });
    expect(await read(arrow, listsOf3(new Float64Array(0)))).toMatchObject({ shape: [0, 3] });
  });

  test("that was a column of a file is read", async () => {
    const table = new library.Table({ x: listsOf3(new Float64Array([1, 2, 3, 4, 5, 6])) });
    const column = library.tableFromIPC(library.tableToIPC(table)).getChild("x");
    expect(toNestedList(await read(arrow, column as object))).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });

  test("with nulls is refused with a hint", async () => {
    const vector = library.vectorFromArray([1, null], new library.Float64());
    await expect(async () => read(arrow, vector)).rejects.toMatchObject({
      code: "INVALID_ARRAY",
      hint: expect.stringContaining("Fill"),
    });
  });

  test.each([
    ["strings", () => library.vectorFromArray(["a"])],
    ["dates", () => library.vectorFromArray([new Date()])],
    ["lists of any size", () => library.vectorFromArray([[1], [1, 2]])],
  ])("of %s is refused with a hint", (_, make) => {
    expect(() => arrow.adapt(make())).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_DTYPE", hint: expect.any(String) }),
    );
  });
});
