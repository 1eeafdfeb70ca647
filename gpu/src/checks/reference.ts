/** Checks against the reference runtime in Python, served with `cuda_ipc`. */
import { bytesOf, dtypes, type Tesseract } from "@tesseract-ts/core";
import { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import type { ReferenceServers, Served } from "../reference.js";
import { Skipped } from "../remote.js";
import { memoryKinds, supports, valuesOf } from "./arrays.js";
import { type Check, expectEqual } from "./check.js";

const gpu = { gpuTransport: "cuda_ipc" } as const;

/** A check with a client of one of the served Tesseracts, whose arrays stay on the GPU. */
const against =
  (served: Served, work: (tess: Tesseract, servers: ReferenceServers) => Promise<string>): Check =>
  async ({ servers }) => {
    const tess = await (await servers.serve(served)).connect();
    try {
      return await work(tess.withEncoding(gpu), servers);
    } finally {
      await tess.close();
    }
  };

const upload = (values: readonly number[]): Promise<DeviceArray> => DeviceArray.fromHost(Float64Array.from(values));

/** The values of an output, which must be on the device, and is disposed of. */
async function download(array: unknown): Promise<number[]> {
  if (!(array instanceof DeviceArray)) throw new Error(`The output isn't on the device: ${String(array)}`);
  const { data } = await array.copyToHost();
  array.dispose();
  return Array.from(data as Float64Array, Number);
}

/** An endpoint of `rotate` with x = [1, 2, 3, 4], rotated by one. */
const endpoint = (call: (tess: Tesseract, x: DeviceArray) => Promise<unknown>, expected: readonly number[]): Check =>
  against("rotate", async (tess) => {
    const x = await upload([1, 2, 3, 4]);
    try {
      expectEqual(await download(await call(tess, x)), expected, "the output");
    } finally {
      x.dispose();
    }
    return "the output is on the device";
  });

const withLibrary = (library: "cupy" | "torch" | "jax"): Check =>
  against("libraries", async (tess, servers) => {
    const version = (await servers.parts())[library];
    if (version.startsWith("!")) throw new Skipped(version.slice(1));
    const x = await upload([1, 2, 3, 4]);
    try {
      for (let round = 0; round < 3; round++) {
        const { y } = (await tess.apply({ x, by: 1, library })) as { y: unknown };
        expectEqual(await download(y), [2, 3, 4, 1], "apply");
      }
      const { x: gradient } = await tess.vectorJacobianProduct({ x, by: 1, library }, ["x"], ["y"], { y: x });
      expectEqual(await download(gradient), [4, 1, 2, 3], "vectorJacobianProduct");
    } finally {
      x.dispose();
    }
    return `${library} ${version}: apply and vectorJacobianProduct`;
  });

export const referenceChecks: Readonly<Record<string, Check>> = {
  "offers cuda_ipc, and the check passes": against("rotate", async (tess, servers) => {
    const { resolved, checks } = await tess.explainGpuTransport();
    if (resolved !== "cuda_ipc")
      throw new Error(checks.map(({ reason, hint }) => `${reason} ${hint ?? ""}`).join("; "));
    const { runtime, python } = await servers.parts();
    return `tesseract-core ${runtime} on Python ${python}`;
  }),

  apply: endpoint(async (tess, x) => (await tess.apply({ x, by: 1 })).y, [2, 3, 4, 1]),
  jacobian: endpoint(
    async (tess, x) => (await tess.jacobian({ x, by: 1 }, ["x"], ["y"])).y?.x,
    [0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0],
  ),
  jacobianVectorProduct: endpoint(
    async (tess, x) => (await tess.jacobianVectorProduct({ x, by: 1 }, ["x"], ["y"], { x })).y,
    [2, 3, 4, 1],
  ),
  vectorJacobianProduct: endpoint(
    async (tess, x) => (await tess.vectorJacobianProduct({ x, by: 1 }, ["x"], ["y"], { y: x })).x,
    [4, 1, 2, 3],
  ),
  abstractEval: against("rotate", async (tess) => {
    const x = await upload([1, 2, 3, 4]);
    const found = await tess.abstractEval({ x, by: 1 });
    x.dispose();
    expectEqual(found, { y: { shape: [4], dtype: "float64" } }, "the output's shape");
    return "from an array on the device";
  }),

  "echoes every dtype": against("echo", async (tess) => {
    const inputs: Record<string, DeviceArray> = {};
    const values = dtypes.map((dtype, index) => valuesOf(dtype, [[2, 3], [], [0, 2]][index % 3] ?? []));
    for (const each of values) inputs[each.dtype] = await DeviceArray.fromHost(each);
    const outputs = (await tess.apply(inputs)) as Record<string, unknown>;
    for (const each of values) {
      const output = outputs[each.dtype];
      if (!(output instanceof DeviceArray)) throw new Error(`${each.dtype} isn't on the device`);
      const read = await output.copyToHost();
      expectEqual([read.shape, bytesOf(read)], [each.shape, bytesOf(each)], each.dtype);
      output.dispose();
      inputs[each.dtype]?.dispose();
    }
    return `${dtypes.length} dtypes in one message`;
  }),

  "answers from memory without handles": against("rotate", async (tess) => {
    const kinds: string[] = [];
    for (const memory of memoryKinds) {
      if (!(await supports(memory))) continue;
      const x = await upload([1, 2, 3]);
      expectEqual(await download((await tess.apply({ x, by: 1, memory })).y), [2, 3, 1], memory);
      x.dispose();
      kinds.push(memory);
    }
    return kinds.join(", ");
  }),

  "16 calls at once": against("rotate", async (tess) => {
    const calls = Array.from({ length: 16 }, async (_, index) => {
      const x = await upload([index, 100, 200]);
      const { y } = (await tess.apply({ x, by: 1 })) as { y: unknown };
      x.dispose();
      expectEqual(await download(y), [100, 200, index], `call ${index}`);
    });
    await Promise.all(calls);
    return "each with its own answer";
  }),

  "through the host, the same values": against("libraries", async (tess) => {
    const x = await upload([1, 2, 3, 4]);
    for (const outputFormat of ["json+base64", "json+binref"]) {
      const { y } = (await tess.withEncoding({ gpuTransport: "none", outputFormat }).apply({ x })) as unknown as {
        y: { data: Float64Array };
      };
      expectEqual([...y.data], [1, 2, 3, 4], outputFormat);
    }
    x.dispose();
    return "json+base64, json+binref";
  }),

  "CuPy arrays": withLibrary("cupy"),
  "PyTorch arrays": withLibrary("torch"),
  "JAX arrays": withLibrary("jax"),
};
