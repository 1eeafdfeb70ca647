import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import { beforeAll, describe, expect, test } from "vitest";
import { tensorflow } from "../../src/adapters/tensorflow.js";
import { toNestedList } from "../../src/arrays/host-array.js";
import { read } from "./read.js";

beforeAll(async () => {
  // Without the advice to install the faster backend.
  tf.enableProdMode();
  await tf.setBackend("cpu");
});

describe("a TensorFlow.js tensor", () => {
  test("of float32 comes with its shape", async () => {
    expect(await read(tensorflow, tf.tensor2d([1, 2, 3, 4, 5, 6], [2, 3]))).toEqual({
      dtype: "float32",
      shape: [2, 3],
      data: new Float32Array([1, 2, 3, 4, 5, 6]),
    });
  });

  test("of int32 stays int32", async () => {
    const tensor = tf.tensor1d([1, -2], "int32");
    expect(await read(tensorflow, tensor)).toEqual({ dtype: "int32", shape: [2], data: new Int32Array([1, -2]) });
  });

  test("of bool has a byte for each element, 0 or 1", async () => {
    const bytes = tf.tensor(new Uint8Array([0, 1, 7]), [3], "bool");
    expect(await read(tensorflow, bytes)).toEqual({ dtype: "bool", shape: [3], data: new Uint8Array([0, 1, 1]) });
    const computed = tf.logicalNot(tf.tensor1d([true, false]));
    expect(toNestedList(await read(tensorflow, computed))).toEqual([false, true]);
  });

  test("of complex64 has real and imaginary parts in turn", async () => {
    const tensor = tf.complex([1, 2], [3, 4]);
    expect(await read(tensorflow, tensor)).toEqual({
      dtype: "complex64",
      shape: [2],
      data: new Float32Array([1, 3, 2, 4]),
    });
  });

  test("of strings is refused with a hint", () => {
    expect(() => tensorflow.adapt(tf.tensor1d(["a"]))).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED_DTYPE", hint: expect.stringContaining("list") }),
    );
  });

  test("that is a scalar has the shape [], one without elements a size of 0", async () => {
    expect(await read(tensorflow, tf.scalar(3))).toMatchObject({ shape: [], data: new Float32Array([3]) });
    expect(await read(tensorflow, tf.zeros([2, 0]))).toMatchObject({ shape: [2, 0], data: new Float32Array(0) });
  });

  test("that is computed, transposed or a variable is read like any other", async () => {
    const computed = tf.mul(tf.transpose(tf.tensor2d([[1, 2]])), 2);
    expect(toNestedList(await read(tensorflow, computed))).toEqual([[2], [4]]);
    expect(toNestedList(await read(tensorflow, tf.variable(tf.tensor1d([5]))))).toEqual([5]);
  });

  test("stays valid, and no tensor is left behind", async () => {
    const tensor = tf.tensor1d([1, 2]);
    const before = tf.memory().numTensors;
    await read(tensorflow, tensor);
    await read(tensorflow, tensor);
    expect(tf.memory().numTensors).toBe(before);
    expect([...tensor.dataSync()]).toEqual([1, 2]);
  });

  test("may be disposed once reading has begun", async () => {
    const tensor = tf.tensor1d([1, 2]);
    const reading = read(tensorflow, tensor);
    tensor.dispose();
    expect(toNestedList(await reading)).toEqual([1, 2]);
  });

  test("that has been disposed is refused", () => {
    const tensor = tf.tensor1d([1]);
    tensor.dispose();
    expect(() => tensorflow.adapt(tensor)).toThrow(expect.objectContaining({ code: "INVALID_ARRAY" }));
  });
});
