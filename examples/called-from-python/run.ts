// Serves the Tesseract, and runs the Python program until it ends.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "@tesseract-ts/serve";
import { bold, printRows } from "../heat/print.js";
import absorption from "./absorption.js";
import { picture, type Results } from "./picture.js";

/** @returns the exit status of the Python program */
export async function run(python: string, file: string | undefined, signal: AbortSignal): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), "called-from-python-"));
  try {
    await using served = await serve(absorption, { port: 0, outputPath: folder });
    console.log(bold("\nA Tesseract in TypeScript, called from Python\n"));
    printRows([
      ["server", `${served.url}, TypeScript on Node ${process.versions.node}`],
      ["client", `fit.py in ${python}`],
    ]);
    const results = join(folder, "results.json");
    const status = await runPython(python, [served.url, results], signal);
    console.log();
    if (status === 0 && file !== undefined) {
      await writeFile(file, picture(JSON.parse(await readFile(results, "utf8")) as Results));
    }
    return status;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runPython(python: string, args: readonly string[], signal: AbortSignal): Promise<number> {
  const child = spawn(python, [fileURLToPath(new URL("fit.py", import.meta.url)), ...args], {
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, JAX_PLATFORMS: "cpu", PYTHONUNBUFFERED: "1" },
  });
  const forward = (): void => void child.kill(signal.reason);
  signal.addEventListener("abort", forward);
  const [status] = (await once(child, "close").catch((error) => {
    throw new Error(`${python} can't be started: ${String(error)}`);
  })) as [number | null];
  signal.removeEventListener("abort", forward);
  return status ?? 1;
}
