// Programs of GPU Tesseracts over simulated cuda_ipc: their arrays stay on the device, by the simulator's trace.

import type { SimulatedCuda } from "@tesseract-ts/cuda-simulator";
import { afterAll, expect, test } from "vitest";
import { Process } from "../../packages/transport-cuda-ipc/test/transport/peers.js";
import type { JaxCudaClient } from "../src/jax-cuda-client.js";
import type { JaxCudaServer } from "../src/jax-cuda-server.js";
import { describeOnSimulator, shared } from "../src/simulated.js";
import { sharedRuntimes } from "../src/with-runtime.js";

type Scenario = "chain" | "stageBetween" | "throughTheHost";

/** Told from everything else that is copied: the checks' arrays have 256 bytes. */
const length = 17;
const bytes = 8 * length;

const sequence = (of: (i: number) => number): number[] => Array.from({ length }, (_, i) => of(i));
const rotated = (by: number): number[] => sequence((i) => (i + by + length) % length);

describeOnSimulator("programs of GPU Tesseracts over simulated cuda_ipc", () => {
  const machine = shared({ devices: 2 }, async ({ cuda, serve }) => {
    const start = <C>(program: string): Promise<Process<C>> =>
      Process.run<C>(new URL(`../src/${program}`, import.meta.url), cuda.env);
    const [python, secondPython, typescript, client] = await Promise.all([
      serve("rotate"),
      serve("rotate"),
      start<JaxCudaServer>("jax-cuda-server.ts"),
      start<JaxCudaClient>("jax-cuda-client.ts"),
    ]);
    const urls = {
      "the reference's": python.url,
      "another of the reference's": secondPython.url,
      "one in TypeScript": await typescript.run(({ url }) => url),
    };
    return { cuda, urls, typescript, client };
  });
  const { elementwise } = sharedRuntimes({ elementwise: { fixture: "elementwise" } });

  afterAll(async () => {
    const { cuda, typescript, client } = machine();
    expect(await client.run(({ held }) => held())).toEqual({ allocations: 0, mappings: 0, pending: 0 });
    await client.finish();
    await typescript.run(({ close }) => close());
    await typescript.finish();
    expect(cuda.trace.filter({ pid: client.pid }).leaks).toEqual([]);
  });

  /** What comes out, and which of the program's arrays were copied by any process. */
  async function run(scenario: Scenario, urls: readonly string[], ordinal = 0) {
    const { cuda, client } = machine();
    await client.run(({ open }, given) => open(given), urls);
    const device = await client.run(({ upload }, ...given) => upload(...given), length, ordinal);
    const before = cuda.trace.calls.length;
    const { hostCopies } = await client.run((context, name) => context[name](), scenario);
    const copies = copiesSince(cuda, before);
    const { values, devices } = await client.run(({ download }) => download());
    await client.run(({ close }) => close());
    expect(new Set(devices)).toEqual(new Set([device]));
    return { values, copies, hostCopies };
  }

  test.each([
    ["the reference's", "another of the reference's"],
    ["the reference's", "one in TypeScript"],
    ["one in TypeScript", "the reference's"],
  ] as const)("a chain of %s and %s copies nothing through the host, nor does its pullback", async (first, second) => {
    const { urls } = machine();
    const { values, copies, hostCopies } = await run("chain", [urls[first], urls[second]]);
    expect(values).toEqual([rotated(3), rotated(3), rotated(3), rotated(-3)]);
    expect(copies).toEqual({ toHost: 0, toDevice: 0 });
    expect(hostCopies).toEqual([]);
  });

  test("a stage of jax-js between them copies once each way, as the explanation says", async () => {
    const { urls } = machine();
    const { values, copies, hostCopies } = await run("stageBetween", [
      urls["the reference's"],
      urls["one in TypeScript"],
    ]);
    expect(values).toEqual([rotated(3).map((each) => 3 * each), rotated(3).map((each) => 3 * each)]);
    // For each of the two runs.
    expect(copies).toEqual({ toHost: 2, toDevice: 2 });
    expect(hostCopies.map(({ direction, shape }) => [direction, ...shape])).toEqual([
      ["to host", length],
      ["to device", length],
    ]);
    expect(hostCopies.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("jax-js has no CUDA device"),
      expect.stringContaining("takes it on the device"),
    ]);
  });

  test("outputs are on the argument's device, also where a Tesseract is reached through the host", async () => {
    const { urls } = machine();
    const { values, copies } = await run("throughTheHost", [urls["the reference's"], elementwise().url], 1);
    expect(values).toEqual([rotated(1).map((each) => each ** 3), rotated(1).map((each) => each ** 3)]);
    expect(copies).toEqual({ toHost: 2, toDevice: 2 });
  });
});

/** Copies of arrays of this test's length, by direction. */
function copiesSince(cuda: SimulatedCuda, calls: number): { readonly toHost: number; readonly toDevice: number } {
  const copies = cuda.trace.calls
    .slice(calls)
    .filter((call) => call.library === "driver" && call.bytes === bytes && call.result === 0);
  const count = (direction: string): number => copies.filter((call) => call.direction === direction).length;
  return { toHost: count("DtoH"), toDevice: count("HtoD") };
}
