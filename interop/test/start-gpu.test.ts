// What is started keeps arrays on the GPU: simulated.
import { fileURLToPath } from "node:url";
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
});
