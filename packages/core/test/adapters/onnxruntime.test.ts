import { Tensor } from "onnxruntime-common";
import { describe, expect, test, vi } from "vitest";
import { onnxruntime } from "../../src/adapters/onnxruntime.js";
import { toNestedList } from "../../src/arrays/host-array.js";
import { read } from "./read.js";

describe("an onnxruntime tensor", () => {
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
  ] as const)("of %s is read in place", async (type, data) => {
    const host = await read(onnxruntime, new Tensor(type, data, [2, 1]));
    expect(host).toEqual({ dtype: type, shape: [2, 1], data });
    expect(host.data).toBe(data);
  });

  test("of float16 has bit patterns, whether the platform has Float16Array or not", async () => {
    const host = await read(onnxruntime, new Tensor("float16", new Uint16Array([0x3c00, 0xc100]), [2]));
    expect(host).toEqual({ dtype: "float16", shape: [2], data: new Uint16Array([0x3c00, 0xc100]) });
    expect(toNestedList(host)).toEqual([1, -2.5]);
  });

  test("of bool has a byte for each element, 0 or 1", async () => {
    expect((await read(onnxruntime, new Tensor("bool", [true, false]))).data).toEqual(new Uint8Array([1, 0]));
    expect((await read(onnxruntime, new Tensor("bool", new Uint8Array([0, 9])))).data).toEqual(new Uint8Array([0, 1]));
  });

  test.each([
    ["string", () => new Tensor("string", ["a"], [1])],
    ["int4", () => new Tensor("int4", new Uint8Array(1) as unknown as Int8Array, [2])],
    ["uint4", () => new Tensor("uint4", new Uint8Array(1), [2])],
  ])("of %s is refused with a hint", (_, make) => {
    expect(() => onnxruntime.adapt(make())).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_DTYPE", hint: expect.any(String) }),
    );
  });

  test("that is a scalar has the shape [], one without elements a size of 0", async () => {
    expect(await read(onnxruntime, new Tensor("float32", new Float32Array([3]), []))).toMatchObject({ shape: [] });
    const empty = new Tensor("float32", new Float32Array(0), [0, 2]);
    expect(await read(onnxruntime, empty)).toMatchObject({ shape: [0, 2], data: new Float32Array(0) });
  });

  test("that has been disposed is refused", () => {
    const tensor = new Tensor("float32", new Float32Array(1), [1]);
    tensor.dispose();
    expect(() => onnxruntime.adapt(tensor)).toThrow(expect.objectContaining({ code: "INVALID_ARRAY" }));
  });
});

describe("an onnxruntime tensor on a GPU", () => {
  // Only the tensor's own callbacks touch the buffer.
  const buffer = { size: 8, mapState: "unmapped" } as Tensor.GpuBufferType;
  const options = { dataType: "float32", dims: [2] } as const;

  test("is downloaded by getData(), and stays valid", async () => {
    const dispose = vi.fn();
    const tensor = Tensor.fromGpuBuffer(buffer, {
      ...options,
      download: async () => new Float32Array([1, 2]),
      dispose,
    });
    expect(await read(onnxruntime, tensor)).toEqual({ dtype: "float32", shape: [2], data: new Float32Array([1, 2]) });
    expect(await read(onnxruntime, tensor)).toMatchObject({ data: new Float32Array([1, 2]) });
    expect(dispose).not.toHaveBeenCalled();
    expect(tensor.gpuBuffer).toBe(buffer);
  });

  test("is downloaded once, if it is in a request twice", async () => {
    const download = vi.fn(async () => new Float32Array([1, 2]));
    const tensor = Tensor.fromGpuBuffer(buffer, { ...options, download });
    const [first, second] = await Promise.all([read(onnxruntime, tensor), read(onnxruntime, tensor)]);
    expect(first).toEqual(second);
    expect(download).toHaveBeenCalledTimes(1);
  });

  test("isn't touched where only its shape and dtype are asked for", () => {
    const download = vi.fn(async () => new Float32Array(2));
    expect(onnxruntime.adapt(Tensor.fromGpuBuffer(buffer, { ...options, download }))).toMatchObject({
      dtype: "float32",
      shape: [2],
    });
    expect(download).not.toHaveBeenCalled();
  });

  test("is refused with a hint where it can't be downloaded", async () => {
    const tensor = Tensor.fromGpuBuffer(buffer, options);
    await expect(read(onnxruntime, tensor)).rejects.toMatchObject({
      code: "INVALID_ARRAY",
      message: expect.stringContaining("gpu-buffer"),
      hint: expect.stringContaining("download"),
    });
  });
});
