// Serves the plate beside this file, recovers its sources of heat from measurements, and writes a page about it.

import { writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { fromUrl } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { serve } from "../heat/serve.js";
import { makeProblem, recover, type Step } from "./inverse.js";
import { page } from "./page.js";

const SIZE = 24;
const STEPS = Number(process.argv[2] ?? 150);

const stopping = new AbortController();
process.once("SIGINT", () => stopping.abort(new Error("Stopped.")));

await using server = await serve(new URL("tesseract_api.py", import.meta.url), stopping.signal);
await using heat = await fromUrl(server.url, { transports: [host()], signal: stopping.signal });
const problem = await makeProblem(heat, SIZE);
const steps: Step[] = [];
const began = performance.now();
const recovered = await recover(
  heat,
  problem,
  STEPS,
  (step) => {
    steps.push(step);
    progress(step);
  },
  stopping.signal,
);
process.stdout.write("\n");
const file = fileURLToPath(new URL("inverse-heat.html", import.meta.url));
await writeFile(file, page(problem, recovered, steps));
console.log(`${STEPS} steps in ${((performance.now() - began) / 1000).toFixed(1)} s; see ${pathToFileURL(file)}`);

function progress({ step, loss, error }: Step): void {
  const width = 30;
  const done = Math.round((step / STEPS) * width);
  const line = `${"█".repeat(done)}${"░".repeat(width - done)} ${step}/${STEPS}  loss ${loss.toExponential(2)}  error ${error.toExponential(2)}`;
  if (process.stdout.isTTY) process.stdout.write(`\r${line}`);
  else if (step % Math.ceil(STEPS / 10) === 0) console.log(line);
}
