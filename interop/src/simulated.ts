/** The reference runtime and clients of this project on a simulated machine with GPUs. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type SimulatedCuda, type SimulatedCudaOptions, simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Process } from "../../packages/transport-cuda-ipc/test/transport/peers.js";
import type { CudaClient } from "./cuda-client.js";
import { type Runtime, type RuntimeOptions, startRuntime } from "./runtime.js";

type ProcessSettings = Parameters<SimulatedCuda["envWith"]>[0];

type DeviceFixture = "rotate" | "echo" | "mixed";

/** Tesseracts whose endpoints take and make device arrays; two were written for the simulator's own tests. */
const fixtureOf = (name: DeviceFixture): string => {
  const folder = name === "mixed" ? "../fixtures" : "../../packages/cuda-simulator/test/interop/python";
  return fileURLToPath(new URL(`${folder}/${name}/tesseract_api.py`, import.meta.url));
};

/** A `describe` for what needs the simulator and the addon. Without them one test tells why; in CI it fails. */
export function describeOnSimulator(name: string, tests: () => void): void {
  describe(name, async () => {
    const missing = await whatIsMissing();
    if (missing === undefined) return tests();
    test("needs something that isn't built", (context) => {
      if (process.env.CI) throw new Error(missing);
      context.skip(missing);
    });
  });
}

async function whatIsMissing(): Promise<string | undefined> {
  try {
    await (await simulatedCuda()).dispose();
  } catch (error) {
    return `${String(error)}: \`npm run test:simulator\` builds it`;
  }
  const addon = new URL("../../packages/transport-cuda-ipc/build/Release/cuda_ipc.node", import.meta.url);
  return existsSync(addon) ? undefined : "The addon isn't built: `npm run build:native -w packages/transport-cuda-ipc`";
}

export interface Simulated {
  readonly cuda: SimulatedCuda;
  /** Serves with `cuda_ipc`, and forbids every implicit copy to the host. */
  serve(
    fixture: DeviceFixture,
    settings?: ProcessSettings,
    options?: Omit<RuntimeOptions, "fixture">,
  ): Promise<Runtime>;
  client(settings?: ProcessSettings): Promise<Process<CudaClient>>;
}

/** At its end nothing may be left by those who weren't killed, and nothing that CUDA leaves undefined may have happened. */
export async function onSimulatedMachine(
  options: SimulatedCudaOptions,
  work: (machine: Simulated) => Promise<void>,
): Promise<void> {
  await using cuda = await simulatedCuda({ memory: "256MiB", ...options });
  const runtimes: Runtime[] = [];
  const clients: Process<CudaClient>[] = [];
  try {
    await work({
      cuda,
      async serve(fixture, settings = {}, more = {}) {
        const runtime = await startRuntime({
          fixture: fixtureOf(fixture),
          ...more,
          env: {
            ...defined(cuda.envWith(settings)),
            TESSERACT_RUNTIME_GPU_TRANSPORT: "cuda_ipc",
            TESSERACT_FORBID_DEVICE_HOST_COPY: "1",
            ...more.env,
          },
        });
        runtimes.push(runtime);
        return runtime;
      },
      async client(settings = {}) {
        const env = { ...cuda.envWith(settings), TESSERACT_FORBID_DEVICE_HOST_COPY: "1" };
        const client = await Process.run<CudaClient>(new URL("./cuda-client.ts", import.meta.url), env);
        clients.push(client);
        return client;
      },
    });
    const alive = clients.filter(({ isAlive }) => isAlive);
    for (const client of alive) {
      expect(await client.run(({ held }) => held())).toEqual({ allocations: 0, mappings: 0, pending: 0 });
      await client.finish();
    }
    expect(cuda.trace.hazards).toEqual([]);
    const ours = new Set(alive.map(({ pid }) => pid));
    expect(cuda.trace.leaks.filter(({ pid }) => ours.has(pid))).toEqual([]);
  } finally {
    for (const client of clients) await client.kill();
    for (const runtime of runtimes) await runtime.stop();
  }
}

/** What tests share, since to start Python and a client takes seconds: made before the first, ended after the last. */
export function shared<T>(options: SimulatedCudaOptions, make: (machine: Simulated) => Promise<T>): () => T {
  let made: { readonly value: T } | undefined;
  let end: () => void = () => {};
  let ended: Promise<void> | undefined;
  beforeAll(
    () =>
      new Promise<void>((resolve, reject) => {
        ended = onSimulatedMachine(options, async (machine) => {
          made = { value: await make(machine) };
          resolve();
          await new Promise<void>((done) => {
            end = done;
          });
        });
        ended.catch(reject);
      }),
  );
  afterAll(async () => {
    end();
    await ended;
  });
  return () => {
    if (made === undefined) throw new Error("It hasn't been started");
    return made.value;
  };
}

const defined = (env: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
