// Runs this example on a machine with a simulated GPU, and says what is left there when all its processes have ended.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { bold, printRows } from "../heat/print.js";

/** @returns the program's exit status, or 1 if something was left */
export async function onSimulatedGpu(program: string, args: readonly string[], signal: AbortSignal): Promise<number> {
  await using cuda = await simulatedCuda({ memory: "256MiB" });
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(program), ...args], {
    // The simulated driver is found by its library path, unless another one is named.
    env: { ...process.env, ...cuda.env, TESSERACT_CUDA_DRIVER: undefined },
    stdio: "inherit",
  });
  const forward = (): void => void child.kill(signal.reason);
  signal.addEventListener("abort", forward);
  const [status] = (await once(child, "close")) as [number | null];
  signal.removeEventListener("abort", forward);
  const { leaks, hazards, pids } = cuda.trace;
  const { allocations } = await cuda.status();
  console.log(bold("The simulated GPU, afterwards"));
  printRows([
    ["processes", `${pids.length} have used it`],
    ["left", `${allocations.length} allocations, ${leaks.length} leaks, ${hazards.length} hazards`],
  ]);
  console.log();
  return status === 0 && allocations.length + leaks.length + hazards.length > 0 ? 1 : (status ?? 1);
}
