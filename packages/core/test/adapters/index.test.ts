import { runInNewContext } from "node:vm";
import { numpy as np } from "@jax-js/jax";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import { Float32, tableFromArrays, vectorFromArray } from "apache-arrow";
import createView from "ndarray";
import { Tensor } from "onnxruntime-common";
import { describe, expect, test } from "vitest";
import { builtinAdapters } from "../../src/adapters/index.js";
import { hostArray } from "../../src/arrays/host-array.js";

// Without the advice to install the faster backend.
tf.enableProdMode();

const recognizedBy = (value: object): string[] =>
  builtinAdapters.filter((adapter) => adapter.adapt(value) !== undefined).map(({ name }) => name);

test.each([
  ["jax-js", () => np.array([1, 2])],
  ["TensorFlow.js", () => tf.tensor1d([1, 2])],
  ["onnxruntime", () => new Tensor("float32", new Float32Array(2), [2])],
  ["ndarray", () => createView(new Float32Array(2))],
  ["Apache Arrow", () => vectorFromArray([1, 2], new Float32())],
])("an array of %s is recognized by its own adapter alone", (name, make) => {
  expect(recognizedBy(make())).toEqual([name]);
});

describe("no adapter recognizes", () => {
  const nothing = () => undefined;
  test.each<[string, object]>([
    ["a plain dict with an array's names", { shape: [2], dtype: "float32", data: { a: 1 } }],
    ["a plain dict with a tensor's names", { type: "float32", dims: [2], data: [1, 2], location: "cpu" }],
    [
      "a plain object with an array's methods",
      {
        ...{ shape: [2], dims: [2], stride: [1], dtype: "float32", type: "float32", location: "cpu", dimension: 1 },
        ...{ offset: 0, weakType: false, refCount: 1, ref: {}, data: nothing, dataSync: nothing, getData: nothing },
        ...{ throwIfDisposed: nothing, dispose: nothing, index: nothing, pick: nothing },
      },
    ],
    ["an object without a prototype", Object.assign(Object.create(null), { shape: [2], dtype: "float32" })],
    ["a plain object of another realm", runInNewContext("({ shape: [2], dtype: 'float32', dimension: 1 })")],
    ["a host array", hostArray(new Float32Array(2))],
    ["a list", [1, 2, 3]],
    ["a typed array", new Float64Array(2)],
    ["a buffer", Buffer.alloc(2)],
    ["a date", new Date()],
    ["a map", new Map([["shape", [2]]])],
    ["a promise of an array", Promise.resolve(createView(new Float32Array(2)))],
    ["a buffer of TensorFlow.js", tf.buffer([2])],
    ["a table of Apache Arrow", tableFromArrays({ x: new Float32Array(2) })],
    [
      "an object of a class with an array's members but not its methods",
      new (class {
        shape = [2];
        dtype = "float32";
        data = new Float32Array(2);
      })(),
    ],
  ])("%s", (_, value) => {
    expect(recognizedBy(value)).toEqual([]);
  });

  test("a plain object by looking at its members", () => {
    const members = ["shape", "dims", "dtype", "type", "data", "dimension", "getData", "ref", "throwIfDisposed"];
    const value = {};
    for (const member of members) {
      Object.defineProperty(value, member, {
        get: () => {
          throw new Error(`${member} was read`);
        },
      });
    }
    expect(recognizedBy(value)).toEqual([]);
  });
});
