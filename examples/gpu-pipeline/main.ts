// Runs the pipeline on this machine's GPU, or on a simulated one where there is none.

import { parseArgs } from "node:util";
import { TesseractError } from "@tesseract-ts/core";
import { probeDriver } from "@tesseract-ts/transport-cuda-ipc";
import { dim } from "../heat/print.js";
import { trace } from "./counters.js";
import { onSimulatedGpu } from "./simulated.js";

const HELP = `npm start -w examples/gpu-pipeline [-- OPTIONS]

  --simulated     on a simulated GPU, whether there is one or not (needs cmake and a C++ compiler)
  --cells N       cells along each side of the square: 128
  --rounds N      how often the tracer is moved and looked at: 6
  --picture FILE  writes a picture of the results, an SVG`;

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort(signal));

try {
  const { values } = parseArgs({
    options: {
      simulated: { type: "boolean", default: false },
      cells: { type: "string", default: "128" },
      rounds: { type: "string", default: "6" },
      picture: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const settings = {
    cells: whole("cells", values.cells),
    rounds: whole("rounds", values.rounds),
    picture: values.picture,
  };
  if (values.help) console.log(HELP);
  else if (trace !== undefined || (!values.simulated && (await hasGpu()))) {
    const { run } = await import("./pipeline.js"); // with all that it needs, which takes a second
    if (!(await run(settings, stop.signal))) process.exitCode = 1;
  } else process.exitCode = await onSimulatedGpu(import.meta.url, process.argv.slice(2), stop.signal);
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof TesseractError ? `${error.message}\n${error.hint ?? ""}` : error);
    process.exitCode = 1;
  } else process.kill(process.pid, stop.signal.reason); // what it started is gone: end the way we were asked to
}

async function hasGpu(): Promise<boolean> {
  const driver = await probeDriver();
  if (!driver.ok) console.log(dim(`\nSimulated, since there is no GPU to use: ${driver.reason}.`));
  return driver.ok;
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new RangeError(`--${name} ${text} is no whole number above 0.`);
  return value;
}
