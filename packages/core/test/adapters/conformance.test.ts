// The suite that every adapter must pass, with the real libraries, both ways: what is shared and what is copied is what
// docs/arrays.md says.
import { numpy as np } from "@jax-js/jax";
import * as tf from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";
import * as apacheArrow from "apache-arrow";
import createView, { type NdArray } from "ndarray";
import { Tensor } from "onnxruntime-common";
import { beforeAll, describe, expect, test } from "vitest";
// By its path: the package depends on this one.
import { adapterConformance, describeConformance } from "../../../testkit/src/index.js";
import { arrow } from "../../src/adapters/arrow.js";
import { toArrow, toHostArray, toJaxJs, toNdarray, toOnnxruntime, toTensorFlow } from "../../src/adapters/index.js";
import { jaxJs } from "../../src/adapters/jax-js.js";
import { ndarray } from "../../src/adapters/ndarray.js";
import { onnxruntime } from "../../src/adapters/onnxruntime.js";
import { tensorflow } from "../../src/adapters/tensorflow.js";
import { type DType, dtypes, type TypedArray } from "../../src/arrays/dtype.js";
import { type HostArray, hostArray } from "../../src/arrays/host-array.js";

const runner = { describe, test };
const integers = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"] as const;
const halves: readonly DType[] = "Float16Array" in globalThis ? ["float16"] : [];

beforeAll(async () => {
  tf.enableProdMode();
  await tf.setBackend("cpu");
});

describeConformance(
  adapterConformance({
    name: "ndarray",
    adapter: ndarray,
    dtypes: [...halves, "float32", "float64", ...integers],
    make: (array) => toNdarray(array, createView) as object,
    memoryOf: ({ data }: NdArray<Float64Array>) => data.buffer,
    sharesRead: () => true,
    sharesMade: () => true,
  }),
  runner,
);

describeConformance(
  adapterConformance({
    name: "onnxruntime",
    adapter: onnxruntime,
    dtypes: ["float16", "float32", "float64", ...integers, "bool"],
    make: (array) => toOnnxruntime(array, Tensor),
    memoryOf: ({ data }: { data: TypedArray }) => data.buffer,
    sharesRead: () => true,
    sharesMade: () => true,
    unsupported: () => ({ strings: new Tensor("string", ["a"], [1]) }),
  }),
  runner,
);

describeConformance(
  adapterConformance({
    name: "TensorFlow.js",
    adapter: tensorflow,
    dtypes: ["float32", "int32", "bool", "complex64"],
    make: (array) => toTensorFlow(array, tf),
    memoryOf: (tensor: tf.Tensor) => valuesOf(tensor)?.buffer,
    // Its bools are copied whenever they are read.
    sharesRead: (dtype) => dtype === "float32" || dtype === "int32",
    sharesMade: (dtype) => dtype !== "complex64",
    unsupported: () => ({ strings: tf.tensor1d(["a"]) }),
    dispose: (tensor: tf.Tensor) => tensor.dispose(),
  }),
  runner,
);

describeConformance(
  adapterConformance({
    name: "jax-js",
    adapter: jaxJs,
    // Its wasm device, the default here, can't compute in float16.
    dtypes: ["float32", "float64", "int32", "uint32", "bool"],
    make: (array) => toJaxJs(array, np),
    dispose: (array: np.Array) => array.dispose(),
  }),
  runner,
);

describeConformance(
  adapterConformance({
    name: "Apache Arrow",
    adapter: arrow,
    dtypes: ["float16", "float32", "float64", ...integers, "bool"],
    scalars: false,
    make: (array) => toArrow(array, apacheArrow) as object,
    memoryOf: (vector: apacheArrow.Vector) => innermost(vector.data[0]),
    sharesRead: (dtype) => dtype !== "bool",
    sharesMade: (dtype) => dtype !== "bool",
    unsupported: () => ({ strings: apacheArrow.vectorFromArray(["a"]) }),
    unreadable: () => ({ nulls: apacheArrow.vectorFromArray([1, null], new apacheArrow.Float64()) }),
  }),
  runner,
);

/** What the CPU's backend keeps of a tensor; nothing for complex ones, whose parts are kept apart. */
function valuesOf({ dataId }: tf.Tensor): TypedArray | undefined {
  const { data } = tf.backend() as unknown as { data: { get(id: object): { values: TypedArray | null } } };
  return data.get(dataId).values ?? undefined;
}

function innermost(data: apacheArrow.Data | undefined): ArrayBufferLike | undefined {
  const [child] = data?.children ?? [];
  return child === undefined ? (data?.values as TypedArray | undefined)?.buffer : innermost(child);
}

describe("typed arrays and host arrays", () => {
  test("share their memory, both ways", async () => {
    const typed = new Float32Array([1, 2, 3]);
    const host = await toHostArray(typed);
    expect(host).toEqual({ dtype: "float32", shape: [3], data: typed });
    expect(host.data.buffer).toBe(typed.buffer);
    expect(await toHostArray(host)).toBe(host);
    expect(hostArray(host.data).data).toBe(typed);
  });
});

describe("toHostArray", () => {
  test("reads the arrays of every library, and of a GPU by copyToHost()", async () => {
    const expected = hostArray(new Float32Array([1, 2]));
    const cuda = {
      cudaArrayInterface: { shape: [2], typestr: "<f4", data: [1n, false], version: 3 },
      copyToHost: async () => expected,
    };
    for (const array of [
      np.array([1, 2]),
      tf.tensor1d([1, 2]),
      new Tensor("float32", new Float32Array([1, 2]), [2]),
      createView(new Float32Array([1, 2])),
      apacheArrow.makeVector(new Float32Array([1, 2])),
      cuda,
    ]) {
      expect(await toHostArray(array)).toEqual(expected);
    }
  });

  test.each([[{}], [[1, 2]], [new Map()], [new DataView(new ArrayBuffer(1))]])(
    "refuses %o with a hint",
    async (value) => {
      await expect(toHostArray(value)).rejects.toMatchObject({ code: "INVALID_ARRAY", hint: expect.any(String) });
    },
  );
});

describe("a dtype that a library lacks is refused with a hint", () => {
  const ways: Readonly<Record<string, { readonly has: readonly DType[]; make(array: HostArray): unknown }>> = {
    ndarray: {
      has: [...halves, "float32", "float64", ...integers, "bool"],
      make: (a) => toNdarray(a, createView),
    },
    onnxruntime: { has: ["float16", "float32", "float64", ...integers, "bool"], make: (a) => toOnnxruntime(a, Tensor) },
    tensorflow: { has: ["float32", "int32", "bool", "complex64"], make: (a) => toTensorFlow(a, tf) },
    jaxJs: {
      has: ["float16", "float32", "float64", "int32", "uint32", "bool"],
      make: (a) => toJaxJs(a, np),
    },
    arrow: {
      has: ["float16", "float32", "float64", ...integers, "bool"],
      make: (a) => toArrow(a, apacheArrow),
    },
  };
  test.each(Object.entries(ways))("%s", (_, { has, make }) => {
    for (const dtype of dtypes) {
      const array = hostArray(dtype.endsWith("int64") ? new BigInt64Array(0) : new Float64Array(0)) as HostArray;
      const typed = { ...array, dtype } as HostArray;
      if (has.includes(dtype)) continue;
      expect(() => make(typed), dtype).toThrow(
        expect.objectContaining({ code: "UNSUPPORTED_DTYPE", hint: expect.any(String) }),
      );
    }
  });

  test("a scalar has no place in an Apache Arrow vector", () => {
    expect(() => toArrow(hostArray(1), apacheArrow)).toThrow(
      expect.objectContaining({ code: "INVALID_ARRAY", hint: expect.stringContaining("shape: [1]") }),
    );
  });
});

test("booleans of an ndarray are uint8", () => {
  const view = toNdarray(hostArray([true, false]), createView) as unknown as NdArray;
  expect(view.dtype).toBe("uint8");
});

test("an array of float16 becomes one of jax-js", async () => {
  const array = toJaxJs(hostArray([1, -2.5], { dtype: "float16" }), np);
  expect(array).toMatchObject({ dtype: "float16", shape: [2] });
  array.dispose();
});

test("complex numbers leave no tensors of TensorFlow.js behind", () => {
  const before = tf.memory().numTensors;
  toTensorFlow(hostArray(new Float32Array([1, 2]), { dtype: "complex64" }), tf).dispose();
  expect(tf.memory().numTensors).toBe(before);
});
