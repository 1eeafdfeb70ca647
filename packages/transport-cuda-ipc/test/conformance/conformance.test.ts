// The suite that every transport must pass, between processes on simulated GPUs.
import { fileURLToPath, pathToFileURL } from "node:url";
import { type SimulatedCuda, simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { describeConformance, type ProcessSide, processSide, transportConformance } from "@tesseract-ts/testkit";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { bundleOf } from "../support/bundles.js";
import { node, SLOWDOWN } from "../support/other-node.js";
import { sanitizerVariables } from "../support/sanitizers.js";

// One case starts processes of its own, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000 * SLOWDOWN });

const program = pathToFileURL(bundleOf(fileURLToPath(new URL("./side.ts", import.meta.url))));

const start = (cuda: SimulatedCuda): Promise<ProcessSide> =>
  processSide(program, {
    env: { ...cuda.env, ...sanitizerVariables() },
    execPath: node,
    execArgv: ["--enable-source-maps"],
  });

describe("on a simulated machine", () => {
  let cuda: SimulatedCuda;
  let sender: ProcessSide;
  let receiver: ProcessSide;
  beforeAll(async () => {
    cuda = await simulatedCuda({ memory: "256MiB" });
    [sender, receiver] = await Promise.all([start(cuda), start(cuda)]);
  });
  afterAll(async () => {
    await Promise.all([sender?.end(), receiver?.end()]);
    await cuda?.dispose();
  });

  describeConformance(
    transportConformance({
      name: "cuda_ipc",
      carries: "device",
      create: () => ({ sender, receiver }),
      async createMortal() {
        const [mortal, other] = await Promise.all([start(cuda), start(cuda)]);
        return { sender: mortal, receiver: other, kill: () => mortal.kill(), end: () => other.end() };
      },
    }),
    { describe, test },
  );

  test("the simulator saw no hazard", () => expect(cuda.trace.hazards).toEqual([]));
});
