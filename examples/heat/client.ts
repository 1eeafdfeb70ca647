// Starts the heat equation in a process of its own, calls it, shows where each array travelled, and checks the two kinds of
// derivatives against each other.

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type CudaArray, type HostArray, TesseractError } from "@tesseract-ts/core";
import { fromSource, type StartedTesseract } from "@tesseract-ts/serve";
import { DeviceArray, probeDriver } from "@tesseract-ts/transport-cuda-ipc";
import { bold, dim, green, printRows, red, sparkline } from "./print.js";
import { onSimulatedGpu } from "./simulated-gpu.js";

const HELP = `npm start [-- OPTIONS]

  --simulated-gpu  arrays on a simulated GPU, which both processes share (needs cmake and a C++ compiler)
  --python         the same Tesseract in Python, served by the reference runtime (needs Python 3.11 to 3.14)`;

type Real = HostArray<"float64"> | CudaArray;

interface Heat {
  inputs: { source: Float64Array | Real; conductivity?: number; steps?: number; dt?: number };
  outputs: { temperature: Real; total: Real };
}

const POINTS = 64;
const TOLERANCE = 1e-12;

async function run({ python }: { readonly python: boolean }, signal: AbortSignal): Promise<void> {
  console.log(bold(`\nA heat equation in ${python ? "Python" : "TypeScript"}, called from TypeScript\n`));
  const starting = performance.now();
  await using heat = await start(python, signal);
  const started = performance.now();
  const gpu = await gpuOf(heat);
  const { outputFormat } = heat.currentEncoding;
  printRows([
    ["server", `${heat.url}, ready after ${milliseconds(started - starting)}`],
    ["endpoints", heat.availableEndpoints.join(", ")],
    [
      "arrays",
      gpu.transport === "none" ? `through the host, as ${outputFormat}` : `stay on the GPU, by ${gpu.transport}`,
    ],
    ["", dim(gpu.why)],
  ]);
  const rod = heat.withEncoding({ gpuTransport: gpu.transport });
  const arrays = new Arrays(gpu.transport, outputFormat ?? "json");

  // Two heaters, and what the rod looks like after a while.
  const values = Float64Array.from({ length: POINTS }, (_, i) => bump(i, 16, 2) + 0.5 * bump(i, 44, 4));
  const source = await arrays.make(values);
  const inputs = { source, conductivity: 0.4, steps: 200 };
  const answer = await timed("apply", () => rod.apply(inputs, { signal }));
  const [temperature, [total = 0]] = await Promise.all([onHost(answer.temperature), onHost(answer.total)]);
  printRows([
    ["source", sparkline(values)],
    ["temperature", sparkline(temperature)],
    ["", `${POINTS} points, at most ${Math.max(...temperature).toFixed(3)}, ${total.toFixed(3)} in all`],
    ...arrays.journeys({ source }, answer),
  ]);

  // J v: how the temperature changes when the source changes along v, and the conductivity by 1.
  const v = { source: values.map((_, i) => Math.sin(i)), conductivity: 1 };
  const tangents = { ...v, source: await arrays.make(v.source) };
  const changes = await timed("jacobianVectorProduct", () =>
    rod.jacobianVectorProduct(inputs, ["source", "conductivity"], ["temperature"], tangents, { signal }),
  );
  const change = await onHost(changes.temperature);
  printRows([
    ["J v", sparkline(change)],
    ["", range(change)],
    ...arrays.journeys({ source, v: tangents.source }, { "J v": changes.temperature }),
  ]);

  // Jᵀ w: the gradient of the temperature, weighted by w.
  const w = values.map((_, i) => Math.cos(3 * i));
  const cotangents = { temperature: await arrays.make(w) };
  const gradient = await timed("vectorJacobianProduct", () =>
    rod.vectorJacobianProduct(inputs, ["source", "conductivity"], ["temperature"], cotangents, { signal }),
  );
  const [bySource, [byConductivity = 0]] = await Promise.all([onHost(gradient.source), onHost(gradient.conductivity)]);
  printRows([
    ["Jᵀ w", sparkline(bySource)],
    ["", `${range(bySource)}; ${byConductivity.toFixed(3)} for the conductivity`],
    ...arrays.journeys({ source, w: cotangents.temperature }, { "Jᵀ w": gradient.source }),
  ]);
  dispose(inputs, tangents, cotangents, answer, changes, gradient);

  const forward = dot(w, change);
  const backward = dot(bySource, v.source) + byConductivity * v.conductivity;
  console.log(`\n${bold("One against the other")}`);
  const difference = Math.abs(forward - backward) / Math.abs(forward);
  const agree = difference < TOLERANCE;
  printRows([
    ["⟨w, J v⟩", forward.toPrecision(15)],
    ["⟨Jᵀ w, v⟩", backward.toPrecision(15)],
    ["difference", `${difference.toExponential(1)}  ${agree ? green("✓ they agree") : red("✗ they don't agree")}`],
  ]);
  console.log();
  if (!agree) process.exitCode = 1;
}

/** The server may send and take GPU arrays where it can; whether they reach it, the client finds out. */
function start(python: boolean, signal: AbortSignal): Promise<StartedTesseract<Heat>> {
  const options = { offerGpuTransport: "cuda_ipc", signal, onWarning: () => {} };
  if (!python) return fromSource<Heat>(new URL("heat.ts", import.meta.url), options);
  const pythonExecutable = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
  if (!existsSync(pythonExecutable))
    throw new Error("There is no Python environment yet: `npm start -- --python` makes it.");
  return fromSource<Heat>(new URL("tesseract_api.py", import.meta.url), { ...options, pythonExecutable });
}

/** What the client and the server can both do, and why not more. */
async function gpuOf(heat: StartedTesseract<Heat>): Promise<{ readonly transport: string; readonly why: string }> {
  const transport = await heat.resolveGpuTransport();
  const { checks } = await heat.explainGpuTransport();
  const driver = await probeDriver();
  if (transport !== "none" && driver.ok) {
    return { transport, why: `both processes see ${driver.devices.map(({ name }) => name).join(", ")}` };
  }
  return {
    transport: "none",
    why: checks.map(({ reason, hint }) => [reason, hint].filter(Boolean).join(". ")).join("; "),
  };
}

/** Arrays for calls: on the GPU where they can reach the server from there. */
class Arrays {
  constructor(
    private readonly transport: string,
    private readonly format: string,
  ) {}

  async make(values: Float64Array): Promise<Float64Array | CudaArray> {
    return this.transport === "none" ? values : DeviceArray.fromHost(values);
  }

  /** A line for each array of a call: from where to where, and how. */
  journeys(sent: Readonly<Record<string, unknown>>, received: Readonly<Record<string, unknown>>): [string, string][] {
    const line = (name: string, way: string, array: unknown): [string, string] => [
      "",
      dim(
        `${name} ${way}, ${array instanceof DeviceArray ? `GPU to GPU by ${this.transport}` : `through the host as ${this.format}`}`,
      ),
    ];
    return [
      ...Object.entries(sent).map(([name, array]) => line(name, "to the server", array)),
      ...Object.entries(received).map(([name, array]) => line(name, "back", array)),
    ];
  }
}

async function onHost(array: Real | HostArray | undefined): Promise<Float64Array> {
  const found = array !== undefined && "cudaArrayInterface" in array ? await array.copyToHost?.() : array;
  if (found?.dtype !== "float64") throw new Error(`Expected an array of float64, not ${found?.dtype}`);
  return found.data;
}

function dispose(...trees: readonly object[]): void {
  for (const array of trees.flatMap((tree) => Object.values(tree))) if (array instanceof DeviceArray) array.dispose();
}

async function timed<T>(name: string, call: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await call();
  console.log(`\n${bold(name)} ${dim(milliseconds(performance.now() - start))}`);
  return result;
}

const milliseconds = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

const range = (values: Float64Array): string =>
  `from ${Math.min(...values).toFixed(3)} to ${Math.max(...values).toFixed(3)}`;

const bump = (i: number, center: number, width: number): number => Math.exp(-(((i - center) / width) ** 2));

const dot = (a: Float64Array, b: Float64Array): number => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort(signal));

try {
  const { values } = parseArgs({
    options: {
      python: { type: "boolean" },
      "simulated-gpu": { type: "boolean" },
      help: { type: "boolean", short: "h" },
    },
  });
  const { python = false, "simulated-gpu": simulated = false, help = false } = values;
  if (help) console.log(HELP);
  else if (simulated) process.exitCode = await onSimulatedGpu(import.meta.url, python ? ["--python"] : [], stop.signal);
  else await run({ python }, stop.signal);
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof TesseractError ? `${error.message}\n${error.hint ?? ""}` : error);
    process.exitCode = 1;
  } else process.kill(process.pid, stop.signal.reason); // what it started is gone: end the way we were asked to
}
