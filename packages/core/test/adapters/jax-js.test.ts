import { type Device, defaultDevice, grad, jit, numpy as np, vmap } from "@jax-js/jax";
import { afterEach, describe, expect, test } from "vitest";
import { jaxJs } from "../../src/adapters/jax-js.js";
import { toNestedList } from "../../src/arrays/host-array.js";
import { read } from "./read.js";

const device = defaultDevice();
afterEach(() => {
  defaultDevice(device);
});

describe.each<Device>(["wasm", "cpu"])("a jax-js array on %s", (device) => {
  const on = { device };

  test("of float32 comes with its shape", async () => {
    expect(await read(jaxJs, np.array([1, 2, 3, 4, 5, 6], on).reshape([2, 3]))).toEqual({
      dtype: "float32",
      shape: [2, 3],
      data: new Float32Array([1, 2, 3, 4, 5, 6]),
    });
  });

  test.each([
    ["float64", np.float64, new Float64Array([1, 2])],
    ["int32", np.int32, new Int32Array([1, 2])],
    ["uint32", np.uint32, new Uint32Array([1, 2])],
  ] as const)("of %s stays %s", async (dtype, jaxDType, data) => {
    expect(await read(jaxJs, np.array([1, 2], on).astype(jaxDType))).toEqual({ dtype, shape: [2], data });
  });

  test("of bool has a byte for each element", async () => {
    const array = np.array([true, false], on);
    expect(await read(jaxJs, array)).toEqual({ dtype: "bool", shape: [2], data: new Uint8Array([1, 0]) });
    array.dispose();
  });

  test("of float16 has bit patterns", async () => {
    // Without Float16Array, jax-js makes float16 arrays of constants only.
    const array = np.full([2], -2.5, { dtype: np.float16, device });
    expect(await read(jaxJs, array)).toEqual({ dtype: "float16", shape: [2], data: new Uint16Array([0xc100, 0xc100]) });
    expect(array.refCount).toBe(1);
  });

  test("that is a scalar has the shape [], one without elements a size of 0", async () => {
    expect(await read(jaxJs, np.array(3, on))).toMatchObject({ shape: [], data: new Float32Array([3]) });
    expect(await read(jaxJs, np.zeros([2, 0], on))).toMatchObject({ shape: [2, 0], data: new Float32Array(0) });
  });

  test("that is transposed is read in C order", async () => {
    const matrix = np.array(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      on,
    );
    expect(toNestedList(await read(jaxJs, np.transpose(matrix)))).toEqual([
      [1, 4],
      [2, 5],
      [3, 6],
    ]);
  });

  test("is not consumed by reading: its references stay what they were", async () => {
    const lazy = np.array([1, 2, 3], on).mul(np.array([3, 4, 5], on));
    const other = lazy.ref;
    expect(toNestedList(await read(jaxJs, lazy))).toEqual([3, 8, 15]);
    expect(toNestedList(await read(jaxJs, lazy))).toEqual([3, 8, 15]);
    expect(lazy.refCount).toBe(2);
    other.dispose();
    expect(await lazy.add(1).data()).toEqual(new Float32Array([4, 9, 16]));
    expect(lazy.refCount).toBe(0);
  });

  test("may be in a request twice", async () => {
    const lazy = np.array([1, 2], on).mul(np.array([3, 4], on));
    const [first, second] = await Promise.all([read(jaxJs, lazy), read(jaxJs, lazy)]);
    expect(toNestedList(first)).toEqual([3, 8]);
    expect(second).toEqual(first);
    expect(lazy.refCount).toBe(1);
  });

  test("may be disposed or passed on once reading has begun", async () => {
    const array = np.array([1, 2], on).mul(np.array([3, 4], on));
    const reading = read(jaxJs, array);
    const sum = array.add(1);
    expect(toNestedList(await reading)).toEqual([3, 8]);
    expect(await sum.data()).toEqual(new Float32Array([4, 9]));
    expect(array.refCount).toBe(0);
  });

  test("is read as a copy, which outlives it", async () => {
    const array = np.array([1, 2, 3], on);
    const host = await read(jaxJs, array);
    array.dispose();
    await np
      .array([7, 8, 9], on)
      .mul(np.array([1, 1, 2], on))
      .data();
    expect(toNestedList(host)).toEqual([1, 2, 3]);
  });

  test("isn't referenced where only its shape and dtype are asked for", () => {
    const array = np.array([1, 2], on);
    expect(jaxJs.adapt(array)).toMatchObject({ dtype: "float32", shape: [2] });
    expect(array.refCount).toBe(1);
  });

  test("that has been freed is refused with a hint", () => {
    const array = np.array([1, 2], on);
    array.dispose();
    expect(() => jaxJs.adapt(array)).toThrow(
      expect.objectContaining({ code: "INVALID_ARRAY", hint: expect.stringContaining(".ref") }),
    );
  });
});

test("a jax-js array that can't be read keeps its references", async () => {
  // jax-js can't compute in float16 on wasm.
  const array = np.array([1, 2], { device: "wasm" }).astype(np.float16);
  await expect(read(jaxJs, array)).rejects.toThrow();
  await expect(read(jaxJs, array)).rejects.toThrow();
  expect(array.refCount).toBe(1);
});

test("a jax-js array of a dtype that isn't known is refused with a hint", () => {
  const array = np.array([1, 2]);
  Object.defineProperty(array, "dtype", { value: "bfloat16" });
  expect(() => jaxJs.adapt(array)).toThrow(
    expect.objectContaining({ code: "UNSUPPORTED_DTYPE", hint: expect.stringContaining("float32") }),
  );
});

describe("a jax-js value of a function that is being traced", () => {
  test.each([
    ["grad", (f: (x: np.Array) => np.Array) => grad(f)(np.array([1, 2]))],
    ["jit", (f: (x: np.Array) => np.Array) => jit(f)(np.array([1, 2]))],
    ["vmap", (f: (x: np.Array) => np.Array) => vmap(f)(np.array([[1, 2]]))],
  ])("by %s has a shape and a dtype, but no elements to read", (_, trace) => {
    trace((x) => {
      const adapted = jaxJs.adapt(x);
      expect(adapted).toMatchObject({ dtype: "float32", shape: [2] });
      expect(() => adapted?.read()).toThrow(
        expect.objectContaining({ code: "INVALID_ARRAY", hint: expect.stringContaining("applyTesseract") }),
      );
      return x.sum();
    });
    expect.assertions(2);
  });
});
