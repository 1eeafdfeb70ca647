// Serves the heat equation beside this file, calls it, and checks its two kinds of derivatives against each other.

import { fromUrl, type HostArray } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { bold, dim, green, printRows, red, sparkline } from "./print.js";
import { serve } from "./serve.js";

interface Heat {
  inputs: { source: Float64Array; conductivity?: number; steps?: number; dt?: number };
  outputs: { temperature: HostArray<"float64">; total: HostArray<"float64"> };
}

const POINTS = 64;
const TOLERANCE = 1e-12;

async function run(signal: AbortSignal): Promise<void> {
  console.log(bold("\nA heat equation in Python, called from TypeScript\n"));
  const starting = performance.now();
  await using server = await serve(new URL("tesseract_api.py", import.meta.url), signal);
  const started = performance.now();
  await using heat = await fromUrl<Heat>(server.url, { transports: [host()], signal });
  const connected = performance.now();
  const { outputFormat, gpuTransport, compression } = heat.currentEncoding;
  printRows([
    ["server", `${server.url}, ready after ${milliseconds(started - starting)}`],
    ["connected", `in ${milliseconds(connected - started)}`],
    ["endpoints", heat.availableEndpoints.join(", ")],
    ["encoding", `${outputFormat}, GPU transport ${gpuTransport ?? "none"}, compression ${compression ?? "none"}`],
  ]);

  // Two heaters, and what the rod looks like after a while.
  const source = Float64Array.from({ length: POINTS }, (_, i) => bump(i, 16, 2) + 0.5 * bump(i, 44, 4));
  const inputs = { source, conductivity: 0.4, steps: 200 };
  const { temperature, total } = await timed("apply", () => heat.apply(inputs, { signal }));
  printRows([
    ["source", sparkline(source)],
    ["temperature", sparkline(temperature.data)],
    ["", `${POINTS} points, at most ${Math.max(...temperature.data).toFixed(3)}, ${total.data[0]?.toFixed(3)} in all`],
  ]);

  // J v: how the temperature changes when the source changes along v, and the conductivity by 1.
  const v = { source: Float64Array.from(source, (_, i) => Math.sin(i)), conductivity: 1 };
  const tangents = await timed("jacobianVectorProduct", () =>
    heat.jacobianVectorProduct(inputs, ["source", "conductivity"], ["temperature"], v, { signal }),
  );
  const change = float64(tangents.temperature);
  printRows([
    ["J v", sparkline(change)],
    ["", range(change)],
  ]);
  // Jᵀ w: the gradient of the temperature, weighted by w.
  const w = { temperature: Float64Array.from(source, (_, i) => Math.cos(3 * i)) };
  const gradient = await timed("vectorJacobianProduct", () =>
    heat.vectorJacobianProduct(inputs, ["source", "conductivity"], ["temperature"], w, { signal }),
  );
  const bySource = float64(gradient.source);
  const byConductivity = float64(gradient.conductivity);
  printRows([
    ["Jᵀ w", sparkline(bySource)],
    ["", `${range(bySource)}; ${byConductivity[0]?.toFixed(3)} for the conductivity`],
  ]);

  const forward = dot(w.temperature, change);
  const backward = dot(bySource, v.source) + dot(byConductivity, [v.conductivity]);
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

const dot = (a: Float64Array, b: ArrayLike<number>): number =>
  a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

function float64(array: HostArray | undefined): Float64Array {
  if (array?.dtype !== "float64") throw new Error(`Expected an array of float64, not ${array?.dtype}`);
  return array.data;
}

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort(signal));

try {
  await run(stop.signal);
} catch (error) {
  if (!stop.signal.aborted) throw error;
  process.kill(process.pid, stop.signal.reason); // what it started is gone: end the way we were asked to
}
