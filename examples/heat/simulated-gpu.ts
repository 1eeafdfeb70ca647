// Runs a program on a machine with a simulated GPU, and says what the GPU did.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { bold, printRows } from "./print.js";

/** @returns the program's exit status */
export async function onSimulatedGpu(program: string, args: readonly string[], signal: AbortSignal): Promise<number> {
  await using cuda = await simulatedCuda({ memory: "256MiB" });
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(program), ...args], {
    env: { ...process.env, ...cuda.env },
    stdio: "inherit",
  });
  const forward = (): void => void child.kill(signal.reason);
  signal.addEventListener("abort", forward);
  const [status] = (await once(child, "close")) as [number | null];
  signal.removeEventListener("abort", forward);
  const { trace } = cuda;
  const count = (name: string): number => trace.filter({ function: name }).calls.length;
  console.log(bold("What the simulated GPU saw"));
  printRows([
    ["processes", `${trace.pids.length}`],
    [
      "shared",
      `${count("cuIpcGetMemHandle")} allocations exported, ${count("cuIpcOpenMemHandle")} mapped by the other process`,
    ],
    [
      "copied",
      `${trace.bytes.DtoD} bytes on the GPU, ${trace.bytes.HtoD} to it and ${trace.bytes.DtoH} from it, by who computes on the host`,
    ],
    ["left", `${trace.leaks.length} leaks, ${trace.hazards.length} hazards`],
  ]);
  console.log();
  return status ?? 1;
}
