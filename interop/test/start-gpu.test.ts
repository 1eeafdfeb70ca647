// What is started keeps arrays on the GPU: simulated.
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { expect, test } from "vitest";
import { findPython } from "../src/python.js";
import { describeOnSimulator, onSimulatedMachine } from "../src/simulated.js";
import { hasRuntime } from "../src/with-runtime.js";

const at = (name: string): string => fileURLToPath(new URL(`../src/${name}`, import.meta.url));
const python = fileURLToPath(
  new URL("../../packages/cuda-simulator/test/interop/python/rotate/tesseract_api.py", import.meta.url),
);
const LIMIT_MS = 600_000;

async function said(...args: readonly string[]): Promise<unknown> {
  let output: unknown;
  await onSimulatedMachine({}, async ({ cuda }) => {
    const { exitCode, stdout, stderr } = await cuda.run(process.execPath, [at("start-gpu.mjs"), ...args]);
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 });
    output = JSON.parse(stdout);
    expect(cuda.trace.copiesToHost).toBeGreaterThan(0);
  });
  return output;
}

const expected = { gpuTransport: "cuda_ipc", isOnDevice: true, y: [2, 3, 1], requested: "nothing", found: "cuda_ipc" };

describeOnSimulator("fromSource with cuda_ipc", () => {
  test("of a Tesseract in TypeScript", { timeout: LIMIT_MS }, async () => {
    expect(await said(at("start-tesseracts/rotate.ts"))).toEqual(expected);
  });

  test("of a Tesseract in Python", { timeout: LIMIT_MS }, async (context) => {
    if (!hasRuntime("1.15")) context.skip("No Tesseract runtime 1.15");
    expect(await said(python, findPython())).toEqual(expected);
  });

  test("leaves nothing in shared memory when the one who started it is killed in a call", {
    timeout: LIMIT_MS,
  }, async () => {
    await using cuda = await simulatedCuda({ memory: "256MiB" });
    const parent = await cuda.spawn(process.execPath, [at("start-gpu-parent.mjs"), at("start-tesseracts/rotate.ts")]);
    await expect.poll(() => parent.output.stdout, { timeout: LIMIT_MS, interval: 5 }).toContain("called\ncalled");
    expect((await cuda.status()).processes).not.toEqual([]);
    const exited = once(parent.child, "exit");
    parent.child.kill("SIGKILL");
    await exited;
    // The Tesseract ends by itself, and the last one to leave a machine takes its memory along.
    const left = async (): Promise<unknown> => {
      const { processes, allocations } = await cuda.status();
      return { processes, allocations };
    };
    await expect.poll(left, { timeout: LIMIT_MS, interval: 20 }).toEqual({ processes: [], allocations: [] });
  });
});
