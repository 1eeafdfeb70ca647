import fc from "fast-check";
import createView from "ndarray";
import { describe, expect, test } from "vitest";
import { ndarray } from "../../src/adapters/ndarray.js";
import { isHostArray, toNestedList } from "../../src/arrays/host-array.js";
import { read } from "./read.js";

const sixNumbers = () => new Float64Array([1, 2, 3, 4, 5, 6]);

describe("an ndarray", () => {
  test.each([
    ["float32", new Float32Array(2)],
    ["float64", new Float64Array(2)],
    ["int8", new Int8Array(2)],
    ["int16", new Int16Array(2)],
    ["int32", new Int32Array(2)],
    ["int64", new BigInt64Array(2)],
    ["uint8", new Uint8Array(2)],
    ["uint8", new Uint8ClampedArray(2)],
    ["uint8", Buffer.alloc(2)],
    ["uint16", new Uint16Array(2)],
    ["uint32", new Uint32Array(2)],
    ["uint64", new BigUint64Array(2)],
  ] as const)("has the dtype %s with data such as %o, which is read in place", async (dtype, data) => {
    const host = await read(ndarray, createView(data as Float64Array));
    expect(host).toMatchObject({ dtype, shape: [2] });
    expect(host.data.buffer).toBe(data.buffer);
    expect(host.data.byteOffset).toBe(data.byteOffset);
  });

  test("has the dtype float16 with a Float16Array", async (context) => {
    if (!("Float16Array" in globalThis)) return context.skip(`Node ${process.version} has no Float16Array`);
    const { Float16Array } = globalThis as unknown as { Float16Array: { from(values: number[]): Float64Array } };
    const view = createView(Float16Array.from([1.5, -2, 0.25]));
    expect(toNestedList(await read(ndarray, view))).toEqual([1.5, -2, 0.25]);
    expect(toNestedList(await read(ndarray, view.step(-1)))).toEqual([0.25, -2, 1.5]);
  });

  test("with a list as its data is float64", async () => {
    expect(await read(ndarray, createView([1, 2, 3, 4], [2, 2]))).toEqual({
      dtype: "float64",
      shape: [2, 2],
      data: new Float64Array([1, 2, 3, 4]),
    });
  });

  test("with get() and set() as its data is float64", async () => {
    const squares = { length: 4, get: (index: number) => index * index, set: () => 0 };
    expect(toNestedList(await read(ndarray, createView(squares, [2, 2]).transpose(1, 0)))).toEqual([
      [0, 4],
      [1, 9],
    ]);
  });

  test.each([[["1"]], [[true]], [[1n]], [[undefined]], [[null]]])("with a list of %o is refused", async (list) => {
    const view = createView(list as unknown as number[]);
    await expect(async () => read(ndarray, view)).rejects.toMatchObject({ code: "INVALID_ARRAY" });
  });

  test("that is a scalar has the shape []", async () => {
    const scalar = createView(sixNumbers(), [2, 3]).pick(1, 0);
    expect(await read(ndarray, scalar)).toEqual({ dtype: "float64", shape: [], data: new Float64Array([4]) });
  });

  test("with a size of 0 has no elements", async () => {
    expect(await read(ndarray, createView(new Float32Array(0), [2, 0]))).toEqual({
      dtype: "float32",
      shape: [2, 0],
      data: new Float32Array(0),
    });
    expect((await read(ndarray, createView(sixNumbers()).lo(6))).shape).toEqual([0]);
  });

  test("that is the view without elements is refused", () => {
    expect(() => ndarray.adapt(createView(sixNumbers()).pick(0).pick(0))).toThrow(
      expect.objectContaining({ code: "INVALID_ARRAY" }),
    );
  });

  test("that reaches out of its data is refused", async () => {
    for (const view of [
      createView(sixNumbers(), [7]),
      createView(sixNumbers(), [6], [1], 1),
      createView(sixNumbers(), [2], [-1], 0),
      createView(sixNumbers(), [2], [0.5]),
      createView([1, 2], [3]),
    ]) {
      await expect(async () => read(ndarray, view)).rejects.toMatchObject({ code: "INVALID_ARRAY" });
    }
  });

  test("of a dtype that isn't known is refused with a hint", () => {
    const view = createView(sixNumbers());
    Object.defineProperty(view, "dtype", { value: "complex64" });
    expect(() => ndarray.adapt(view)).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_DTYPE", hint: expect.stringContaining("float64") }),
    );
  });

  test("isn't taken for a host array, whose elements would be in C order", () => {
    expect(isHostArray(createView(sixNumbers(), [2, 3]).transpose(1, 0))).toBe(false);
  });
});

describe("a view of an ndarray", () => {
  test("is read in place where its elements are in C order", async () => {
    const data = sixNumbers();
    const host = await read(ndarray, createView(data, [3, 2]).lo(1));
    expect(toNestedList(host)).toEqual([
      [3, 4],
      [5, 6],
    ]);
    expect(host.data.buffer).toBe(data.buffer);
  });

  test("is copied into C order where it is transposed, reversed, stepped or repeated", async () => {
    const matrix = createView(sixNumbers(), [2, 3]);
    expect(toNestedList(await read(ndarray, matrix.transpose(1, 0)))).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
    expect(toNestedList(await read(ndarray, matrix.step(-1, 1)))).toEqual([
      [4, 5, 6],
      [1, 2, 3],
    ]);
    expect(toNestedList(await read(ndarray, matrix.step(1, 2)))).toEqual([
      [1, 3],
      [4, 6],
    ]);
    expect(toNestedList(await read(ndarray, createView(sixNumbers(), [2, 3], [0, 1])))).toEqual([
      [1, 2, 3],
      [1, 2, 3],
    ]);
  });

  test("gives what its own get() gives, whatever the view", async () => {
    const operation = fc.oneof(
      fc.record({ kind: fc.constantFrom("lo" as const, "hi" as const), by: fc.array(fc.nat(3), { maxLength: 3 }) }),
      fc.record({
        kind: fc.constant("step" as const),
        by: fc.array(fc.constantFrom(-2, -1, 1, 2), { minLength: 3, maxLength: 3 }),
      }),
      fc.record({
        kind: fc.constant("transpose" as const),
        by: fc.shuffledSubarray([0, 1, 2], { minLength: 3, maxLength: 3 }),
      }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.nat(4), fc.nat(4), fc.nat(4)),
        fc.array(operation, { maxLength: 4 }),
        fc.boolean(),
        async (shape, operations, big) => {
          const [depth, rows, columns] = shape;
          const count = depth * rows * columns;
          const data = big
            ? BigInt64Array.from({ length: count }, (_, i) => BigInt(i))
            : Int16Array.from({ length: count }, (_, i) => i);
          let view = createView(data as Int16Array, [...shape]);
          for (const { kind, by } of operations) {
            // ndarray doesn't clamp: beyond the end, lo() and hi() give views that don't exist.
            view = view[kind](
              ...(kind === "lo" || kind === "hi" ? by.map((n, axis) => Math.min(n, view.shape[axis] ?? 0)) : by),
            );
          }
          const expected: unknown[] = [];
          const [a = 0, b = 0, c = 0] = view.shape;
          for (let i = 0; i < a; i++)
            for (let j = 0; j < b; j++) for (let k = 0; k < c; k++) expected.push(view.get(i, j, k));
          const host = await read(ndarray, view);
          expect(host.shape).toEqual(view.shape);
          expect([...host.data]).toEqual(expected);
        },
      ),
    );
  });
});
