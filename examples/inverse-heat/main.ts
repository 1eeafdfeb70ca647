// Serves the plate beside this file, recovers its sources of heat from measurements, and writes a page about it.
//
//     npm start -w examples/inverse-heat [-- STEPS] [-- --typescript]

import { writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import type { Tesseract } from "@tesseract-ts/core";
import { fromTesseractApi } from "@tesseract-ts/inprocess";
import { fromSource } from "@tesseract-ts/serve";
import { makeProblem, recover, type Step } from "./inverse.js";
import { page } from "./page.js";
import plate from "./plate.js";

const SIZE = 24;
const { values, positionals } = parseArgs({ options: { typescript: { type: "boolean" } }, allowPositionals: true });
const STEPS = Number(positionals[0] ?? 150);
if (!Number.isInteger(STEPS) || STEPS < 1) throw new Error(`${positionals[0]} is no number of steps.`);

const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort(new Error("Stopped.")));

if (values.typescript === true) {
  await using heat = await fromTesseractApi(plate);
  await run(heat as unknown as Tesseract);
} else {
  await using heat = await fromSource(new URL("tesseract_api.py", import.meta.url), {
    pythonExecutable: fileURLToPath(new URL("../../.venv/bin/python", import.meta.url)),
    signal: stopping.signal,
  });
  await run(heat);
}

async function run(heat: Tesseract): Promise<void> {
  const problem = await makeProblem(heat, SIZE);
  const steps: Step[] = [];
  const began = performance.now();
  const report = (step: Step): void => {
    steps.push(step);
    progress(step);
  };
  const recovered = await recover(heat, problem, STEPS, report, stopping.signal);
  if (process.stdout.isTTY) process.stdout.write("\n");
  const file = fileURLToPath(new URL("inverse-heat.html", import.meta.url));
  await writeFile(file, page(problem, recovered, steps));
  console.log(`${STEPS} steps in ${((performance.now() - began) / 1000).toFixed(1)} s; see ${pathToFileURL(file)}`);
}

function progress({ step, loss, error }: Step): void {
  const width = 30;
  const done = Math.round((step / STEPS) * width);
  const line = `${"█".repeat(done)}${"░".repeat(width - done)} ${step}/${STEPS}  loss ${loss.toExponential(2)}  error ${error.toExponential(2)}`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`);
  else if (step % Math.ceil(STEPS / 10) === 0) console.log(line);
}
