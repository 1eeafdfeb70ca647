import { afterEach, describe, expect, test, vi } from "vitest";
import type { ArrayAdapter } from "../../src/adapters/adapter.js";
import type { CudaArray } from "../../src/arrays/cuda-array.js";
import { hostArray } from "../../src/arrays/host-array.js";
import type { JsonBody } from "../../src/json/writer.js";
import { type EncodingPlan, encodeMessage, toAbstract } from "../../src/message/encode-message.js";
import { findForeignArray } from "../../src/message/foreign-arrays.js";
import { type FindArray, findHostArray } from "../../src/message/leaves.js";
import { failureOf, tesseractError } from "../support.js";
import { leaseOf, numberedDevice, numberedHost } from "./transports.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

const { signal } = new AbortController();
const arraysKnownTo =
  (...adapters: readonly ArrayAdapter[]): FindArray =>
  (value) =>
    findHostArray(value) ?? findForeignArray(value, adapters);
const plan = (parts: Pick<EncodingPlan, "host"> & Partial<EncodingPlan>): EncodingPlan => ({
  compression: "none",
  find: arraysKnownTo(),
  signal,
  ...parts,
});

async function parsed(body: JsonBody): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body.chunks()) text += decoder.decode(chunk, { stream: true });
  return JSON.parse(text);
}

const onHost = hostArray(new Float32Array([1, 2, 3]));
const gpuArray = (parts: Partial<CudaArray> = {}): CudaArray => ({
  cudaArrayInterface: { shape: [3], typestr: "<f4", data: [0x1000n, false], version: 3 },
  ...parts,
});
const encoded = (encoding: string, buffer: number) => ({
  object_type: "array",
  shape: [3],
  dtype: "float32",
  data: { encoding, buffer },
});

describe("a request", () => {
  test("has each array where it stood, as its transport encoded it", async () => {
    const host = numberedHost();
    const second = hostArray(new Float32Array(3));
    const { body, lease } = await encodeMessage({ inputs: { a: [onHost, 1], b: { c: second } } }, plan({ host }));
    expect(await parsed(body)).toEqual({
      inputs: { a: [encoded("numbered", 0), 1], b: { c: encoded("numbered", 1) } },
    });
    expect(host.sent).toEqual([onHost, second]);
    expect(leaseOf(host).released).toBe(0);
    await lease.release();
    expect(leaseOf(host).released).toBe(1);
  });

  test("asks no transport where it has no arrays", async () => {
    const host = numberedHost();
    const device = numberedDevice();
    const { body, lease } = await encodeMessage({ inputs: { a: [1, 2] } }, plan({ host, device }));
    expect(await parsed(body)).toEqual({ inputs: { a: [1, 2] } });
    await lease.release();
    expect([host.leases, device.leases]).toEqual([[], []]);
  });

  test("gives GPU arrays to the transport for them, all at once, and the others to the host's", async () => {
    const [host, device] = [numberedHost(), numberedDevice()];
    const copyToHost = vi.fn(async () => onHost);
    const [first, second] = [gpuArray({ copyToHost }), gpuArray({ copyToHost })];
    const tree = { a: first, b: onHost, c: [second] };
    const { body, lease } = await encodeMessage(tree, plan({ host, device }));
    expect(await parsed(body)).toEqual({
      a: encoded("numbered_gpu", 0),
      b: encoded("numbered", 0),
      c: [encoded("numbered_gpu", 1)],
    });
    expect(device.contexts).toHaveLength(1);
    expect(copyToHost).not.toHaveBeenCalled();
    await lease.release();
    await lease.release();
    expect([leaseOf(host).released, leaseOf(device).released]).toEqual([1, 1]);
  });

  test("copies GPU arrays to the host where there is no transport for them, one after the other", async () => {
    const host = numberedHost();
    let copying = 0;
    let most = 0;
    const copyToHost = async () => {
      most = Math.max(most, ++copying);
      await new Promise((resolve) => setTimeout(resolve, 1));
      copying--;
      return onHost;
    };
    const arrays = [gpuArray({ copyToHost }), gpuArray({ copyToHost }), gpuArray({ copyToHost })];
    const { body } = await encodeMessage(arrays, plan({ host }));
    expect(await parsed(body)).toEqual([0, 1, 2].map((index) => encoded("numbered", index)));
    expect(most).toBe(1);
  });

  test("is refused where a copy to the host is forbidden, but not where none is made", async () => {
    vi.stubEnv("TESSERACT_FORBID_DEVICE_HOST_COPY", "1");
    const tree = { x: gpuArray({ copyToHost: async () => onHost }) };
    expect(await failureOf(() => encodeMessage(tree, plan({ host: numberedHost() })))).toEqual(
      tesseractError("HOST_COPY_FORBIDDEN", "x: "),
    );
    await encodeMessage(tree, plan({ host: numberedHost(), device: numberedDevice() }));
  });

  test("tells its transports of the compression and the signal", async () => {
    const [host, device] = [numberedHost(), numberedDevice()];
    await encodeMessage([onHost, gpuArray()], plan({ host, device, compression: "lz4" }));
    expect([...host.contexts, ...device.contexts]).toEqual([
      { compression: "lz4", signal },
      { compression: "lz4", signal },
    ]);
  });

  test("finds what is wrong with its tree before a transport is asked", async () => {
    const host = numberedHost();
    expect(await failureOf(() => encodeMessage({ a: onHost, b: [Number.NaN] }, plan({ host })))).toEqual(
      tesseractError("INVALID_TREE"),
    );
    expect(host.leases).toEqual([]);
  });
});

describe("a request that can't be encoded leaves nothing behind", () => {
  const thrown = new Error("no room");

  test("where the host's transport fails after the GPU's", async () => {
    const device = numberedDevice();
    const host = { ...numberedHost(), encode: () => Promise.reject(thrown) };
    await expect(encodeMessage([onHost, gpuArray()], plan({ host, device }))).rejects.toBe(thrown);
    expect(leaseOf(device).released).toBe(1);
  });

  test("where the GPU's transport fails, before the host's was asked", async () => {
    const host = numberedHost();
    const device = { ...numberedDevice(), encode: () => Promise.reject(thrown) };
    await expect(encodeMessage([onHost, gpuArray()], plan({ host, device }))).rejects.toBe(thrown);
    expect(host.leases).toEqual([]);
  });

  test("where a transport throws instead of rejecting", async () => {
    const device = numberedDevice();
    const host = {
      ...numberedHost(),
      encode: () => {
        throw thrown;
      },
    };
    await expect(encodeMessage([onHost, gpuArray()], plan({ host, device }))).rejects.toBe(thrown);
    expect(leaseOf(device).released).toBe(1);
  });

  test("where an array can't be read after the GPU's were encoded", async () => {
    const device = numberedDevice();
    const adapter = {
      name: "broken",
      adapt: (value: object) =>
        value instanceof URL ? { dtype: "int8" as const, shape: [1], read: () => Promise.reject(thrown) } : undefined,
    };
    const tree = { a: gpuArray(), b: new URL("http://x") };
    const work = encodeMessage(tree, plan({ host: numberedHost(), device, find: arraysKnownTo(adapter) }));
    expect(await failureOf(() => work)).toEqual(tesseractError("INVALID_ARRAY", "b: ", "no room"));
    expect(leaseOf(device).released).toBe(1);
  });

  test("where a transport gives another number of arrays than it got", async () => {
    for (const wrong of [0, 1, 3]) {
      const host = numberedHost();
      const encode: typeof host.encode = async (arrays, context) => {
        const message = await host.encode(arrays, context);
        const [first] = message.arrays;
        return { ...message, arrays: first === undefined ? [] : new Array<typeof first>(wrong).fill(first) };
      };
      const work = encodeMessage([onHost, onHost], plan({ host: { ...host, encode } }));
      expect(await failureOf(() => work)).toEqual(tesseractError("TRANSPORT_UNUSABLE", '"numbered"', `${wrong}`));
      expect(leaseOf(host).released).toBe(1);
    }
  });

  test("where a transport's buffer can't be written as JSON", async () => {
    const host = numberedHost();
    const encode: typeof host.encode = async (arrays, context) => {
      const message = await host.encode(arrays, context);
      return {
        ...message,
        arrays: message.arrays.map((array) => ({ ...array, data: { ...array.data, buffer: NaN } })),
      };
    };
    const work = encodeMessage([onHost], plan({ host: { ...host, encode } }));
    expect(await failureOf(() => work)).toEqual(tesseractError("INVALID_TREE"));
    expect(leaseOf(host).released).toBe(1);
  });
});

test("an abstract request has shapes and dtypes alone, of arrays on the host and on GPUs", () => {
  const array = { shape: [3], dtype: "float32" };
  const tree = { inputs: { a: onHost, b: [gpuArray()], c: { shape: [null, 2], dtype: "float64" }, d: 1 } };
  expect(toAbstract(tree, arraysKnownTo())).toEqual({
    inputs: { a: array, b: [array], c: { shape: [null, 2], dtype: "float64" }, d: 1 },
  });
});
