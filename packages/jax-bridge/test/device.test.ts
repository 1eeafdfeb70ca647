// CUDA arrays in programs, with arrays and a Tesseract that stand for a GPU's: what is asked, what is copied, what is freed.

import type { numpy as np } from "@jax-js/jax";
import {
  type Backend,
  type CudaArray,
  type HostArray,
  hostArray,
  makeHostArray,
  type RequestedEncoding,
  Tesseract,
} from "@tesseract-ts/core";
import { afterEach, expect, test } from "vitest";
import { applyTesseract, jit, makeProgram, vjp } from "../src/index.js";

/** An array that counts its copies to the host, and its end. */
class FakeDeviceArray implements CudaArray {
  static copies = 0;
  static live = 0;
  disposed = false;

  constructor(readonly values: Float64Array) {
    FakeDeviceArray.live += 1;
  }

  static async fromHost(array: HostArray): Promise<FakeDeviceArray> {
    return new FakeDeviceArray(Float64Array.from(array.data as Float64Array));
  }

  get cudaArrayInterface(): CudaArray["cudaArrayInterface"] {
    return { shape: [this.values.length], typestr: "<f8", data: [1n, false], version: 3 };
  }

  async copyToHost(): Promise<HostArray> {
    FakeDeviceArray.copies += 1;
    return makeHostArray("float64", [this.values.length], this.values.slice());
  }

  dispose(): void {
    this.disposed = true;
    FakeDeviceArray.live -= 1;
  }
}

afterEach(() => {
  FakeDeviceArray.copies = 0;
  FakeDeviceArray.live = 0;
});

/** y = 2 x, on the device where the encoding says so. */
function doubling(transport: string, failure?: Error): { tesseract: Tesseract; asked: string[] } {
  const asked: string[] = [];
  const backend: Backend = {
    openapiSchema: {
      info: { title: "doubling" },
      paths: { "/apply": {}, "/vector_jacobian_product": {}, "/abstract_eval": {} },
      components: {
        schemas: {
          Apply_InputSchema: { properties: { x: { array_flags: [] } } },
          ApplyInputSchema: { differentiable_arrays: { x: { dtype: "float64", shape: [null] } } },
          ApplyOutputSchema: { differentiable_arrays: { y: { dtype: "float64", shape: [null] } } },
        },
      },
    },
    serverCapabilities: undefined,
    defaultEncoding: {},
    checkEncoding: () => {},
    resolveGpuTransport: async () => {
      asked.push("resolve");
      return transport;
    },
    explainGpuTransport: async () => ({ requested: undefined, offered: [], resolved: transport, checks: [] }),
    close: async () => {},
    async call({ route, payload, encoding }) {
      const { inputs, cotangent_vector } = payload as { inputs: { x: unknown }; cotangent_vector?: { y: unknown } };
      const x = cotangent_vector?.y ?? inputs.x;
      const name = cotangent_vector === undefined ? "y" : "x";
      asked.push(`${route} ${where(x)} ${(encoding as RequestedEncoding).gpuTransport ?? "unasked"}`);
      if (route === "abstract_eval") return { y: x };
      if (failure !== undefined) throw failure;
      if (x instanceof FakeDeviceArray) return { [name]: new FakeDeviceArray(x.values.map((value) => 2 * value)) };
      return { [name]: hostArray((x as HostArray<"float64">).data.map((value) => 2 * value)) };
    },
  };
  return { tesseract: new Tesseract(backend), asked };
}

const where = (x: unknown): string => (x instanceof FakeDeviceArray ? "device" : "host");

const call = (tesseract: Tesseract, x: np.Array): np.Array =>
  (applyTesseract(tesseract, { x }) as unknown as { y: np.Array }).y;

test("arrays stay on the device from one Tesseract to the next, and those in between are freed", async () => {
  const [first, second] = [doubling("cuda_ipc"), doubling("cuda_ipc")];
  const x = new FakeDeviceArray(Float64Array.of(1, 2));
  const y = (await jit((x: np.Array) => call(second.tesseract, call(first.tesseract, x)))(x)) as unknown;
  expect((y as FakeDeviceArray).values).toEqual(Float64Array.of(4, 8));
  expect(FakeDeviceArray.copies).toBe(0);
  // The argument, which stays the caller's, and the result.
  expect([FakeDeviceArray.live, x.disposed]).toEqual([2, false]);
  expect(first.asked).toEqual(["abstract_eval host unasked", "resolve", "apply device cuda_ipc"]);
  expect(second.asked).toEqual(["abstract_eval host unasked", "resolve", "apply device cuda_ipc"]);
});

test("a stage of jax-js copies through the host once, says so, and its results come back to the device", async () => {
  const { tesseract } = doubling("cuda_ipc");
  const f = (x: np.Array): np.Array => {
    const y = call(tesseract, x);
    return y.ref.mul(3).add(y);
  };
  const x = new FakeDeviceArray(Float64Array.of(1, 2));
  const result = (await jit(f)(x)) as unknown;
  expect((result as FakeDeviceArray).values).toEqual(Float64Array.of(8, 16));
  expect(FakeDeviceArray.copies).toBe(1);
  const explanation = (await makeProgram(f, { device: "cuda" })(x)).explain();
  expect(explanation.hostCopies.map(({ direction }) => direction)).toEqual(["to host", "to device"]);
  expect(String(explanation)).toContain("once: jax-js has no CUDA device");
});

test("what jax-js makes goes to the device before a Tesseract takes it, once, and ends", async () => {
  const [first, second, third] = [doubling("cuda_ipc"), doubling("cuda_ipc"), doubling("cuda_ipc")];
  const f = (x: np.Array): readonly np.Array[] => {
    const tripled = call(first.tesseract, x).mul(3);
    return [call(second.tesseract, tripled.ref), call(third.tesseract, tripled.ref), tripled];
  };
  const x = new FakeDeviceArray(Float64Array.of(1, 2));
  const results = (await jit(f)(x)) as unknown as FakeDeviceArray[];
  expect(results.map(({ values }) => values)).toEqual([
    Float64Array.of(12, 24),
    Float64Array.of(12, 24),
    Float64Array.of(6, 12),
  ]);
  expect([second, third].map(({ asked }) => asked.at(-1))).toEqual(["apply device cuda_ipc", "apply device cuda_ipc"]);
  // The argument and the three results; the third is the copy that the two Tesseracts were given.
  expect([FakeDeviceArray.copies, FakeDeviceArray.live]).toEqual([1, 4]);
  const { hostCopies } = (await makeProgram(f, { device: "cuda" })(x)).explain();
  expect(hostCopies.map(({ direction }) => direction)).toEqual(["to host", "to device"]);
});

test("copies on the device end with a run that fails", async () => {
  const { tesseract } = doubling("cuda_ipc");
  const failing = doubling("cuda_ipc", new Error("diverged"));
  const x = new FakeDeviceArray(Float64Array.of(1, 2));
  await expect(jit((x: np.Array) => call(failing.tesseract, call(tesseract, x).mul(3)))(x)).rejects.toThrow("diverged");
  expect([FakeDeviceArray.live, x.disposed]).toEqual([1, false]);
});

test("the pullback of a program for CUDA is for CUDA, whatever its cotangents are", async () => {
  const { tesseract, asked } = doubling("cuda_ipc");
  const x = new FakeDeviceArray(Float64Array.of(1, 2));
  const [value, pull] = (await vjp((x: np.Array) => call(tesseract, x), [x])) as unknown as [
    FakeDeviceArray,
    ((cotangent: Float64Array) => Promise<unknown[]>) & { dispose(): void },
  ];
  const [cotangent] = await pull(Float64Array.of(1, 1));
  pull.dispose();
  expect((cotangent as FakeDeviceArray).values).toEqual(Float64Array.of(2, 2));
  expect(asked.at(-1)).toBe("vector_jacobian_product device cuda_ipc");
  expect(value).toBeInstanceOf(FakeDeviceArray);
});

test("outputs are on the device where the transport is the host, too", async () => {
  const { tesseract, asked } = doubling("none");
  const x = new FakeDeviceArray(Float64Array.of(1, 2));
  const y = (await jit((x: np.Array) => call(tesseract, x))(x)) as unknown;
  expect(y).toBeInstanceOf(FakeDeviceArray);
  expect((y as FakeDeviceArray).values).toEqual(Float64Array.of(2, 4));
  expect(asked).toEqual(["abstract_eval host unasked", "resolve", "apply host none"]);
  const outside = await applyTesseract(tesseract, { x });
  expect(outside.y).toBeInstanceOf(FakeDeviceArray);
});

test("arrays in the host's memory give outputs on the device where it is asked for, by toDevice", async () => {
  const { tesseract } = doubling("none");
  const options = { device: "cuda", toDevice: FakeDeviceArray.fromHost } as const;
  const y: unknown = await jit((x: np.Array) => call(tesseract, x), options)(Float64Array.of(1, 2));
  expect(y).toBeInstanceOf(FakeDeviceArray);
  await expect(
    jit((x: np.Array) => call(tesseract, x), { device: "cuda" })(Float64Array.of(1, 2)),
  ).rejects.toMatchObject({
    code: "TRANSPORT_UNUSABLE",
    hint: expect.stringContaining("toDevice"),
  });
});

test("a program for the CPU asks nothing, and its outputs are jax-js arrays", async () => {
  const { tesseract, asked } = doubling("cuda_ipc");
  const x = new FakeDeviceArray(Float64Array.of(1, 2));
  const y = await jit((x: np.Array) => call(tesseract, x), { device: "cpu" })(x);
  expect(await y.jsAsync()).toEqual([2, 4]);
  expect(asked).toEqual(["abstract_eval host unasked", "apply host unasked"]);
});

test("an implicit copy to the host may be forbidden by the environment", async () => {
  const { tesseract } = doubling("cuda_ipc");
  process.env.TESSERACT_FORBID_DEVICE_HOST_COPY = "1";
  try {
    const x = new FakeDeviceArray(Float64Array.of(1, 2));
    await expect(jit((x: np.Array) => call(tesseract, x).mul(2))(x)).rejects.toMatchObject({
      code: "HOST_COPY_FORBIDDEN",
    });
  } finally {
    delete process.env.TESSERACT_FORBID_DEVICE_HOST_COPY;
  }
});
