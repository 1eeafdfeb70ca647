/**
 * Measures what a program costs over the bare call, and whether a training loop keeps its memory:
 *
 *     npm run bench:jax [-- --quick]
 *
 * Prints a table and writes bench/results/jax.json. See bench/README.md for what each row means.
 */
import { writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { numpy as np } from "@jax-js/jax";
import { fromUrl, type HostArray } from "@tesseract-ts/core";
import { applyTesseract, jaxArray, jit, valueAndGrad } from "@tesseract-ts/jax-bridge";
import { host } from "@tesseract-ts/transport-host";
import { countLiveArrays } from "../interop/src/jax-live-arrays.js";
import { startRuntime } from "../interop/src/runtime.js";
import { type Figures, figures } from "./statistics.js";

interface Row {
  readonly bench: string;
  readonly size: number;
  readonly encoding: string;
  readonly typescript_ms: number | null;
  readonly python_ms: number | null;
  readonly ratio: number;
  readonly goal: number | null;
}

const quick = process.argv.includes("--quick");
const SIZES = [1_000, 100_000];
const PAIRS = quick ? 40 : 200;
const WARM_UP = 20;
/** A cached program of one call may take this much of the bare call's time at 10^5 float64. */
const OVERHEAD_GOAL = 1.2;

const STEPS = quick ? 200 : 1_000;
const STEP_SIZE = 10_000;
/** Of the memory that one array leaked in each step would take. */
const GROWTH_GOAL = 0.1;

const rows: Row[] = [];
const round = (value: number): number => Number(value.toPrecision(4));
const ms = ({ median, low, high }: Figures): string =>
  `${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)}) ms`.padEnd(28);

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const live = await countLiveArrays();
await using runtime = await startRuntime({
  fixture: "elementwise",
});
await using tesseract = await fromUrl(runtime.url, { transports: [host()] });

type Outputs = { readonly y: np.Array };
const y = (x: np.Array, w: np.Array): np.Array => (applyTesseract(tesseract, { x, w }) as unknown as Outputs).y;

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** Pairs of a bare call and a call of the cached program, in turn the one and the other first: each pair meets one machine. */
async function overhead(size: number): Promise<void> {
  const values = Float64Array.from({ length: size }, (_, i) => Math.sin(i));
  const x = await jaxArray(values);
  const program = jit((x: np.Array) => y(x.ref, x));
  const bare = async (): Promise<void> => {
    const answer = (await tesseract.apply({ x: values, w: values })) as { readonly y?: HostArray };
    if (answer.y?.data.length !== size) throw new Error("The answer is incomplete.");
  };
  const cached = async (): Promise<void> => {
    const answer = await program(x.ref);
    if (answer.size !== size) throw new Error("The answer is incomplete.");
    answer.dispose();
  };
  const times = { bare: [] as number[], cached: [] as number[], ratio: [] as number[] };
  for (let pair = -WARM_UP; pair < PAIRS; pair++) {
    let without = pair % 2 === 0 ? await timed(bare) : undefined;
    const within = await timed(cached);
    without ??= await timed(bare);
    if (pair < 0) continue;
    times.bare.push(without);
    times.cached.push(within);
    times.ratio.push(within / without);
  }
  program.dispose();
  x.dispose();
  const ratio = figures(times.ratio);
  const [without, within] = [figures(times.bare), figures(times.cached)];
  const goal = size === 100_000 ? OVERHEAD_GOAL : null;
  rows.push({
    bench: "program",
    size,
    encoding: "base64",
    typescript_ms: round(within.median),
    python_ms: null,
    ratio: round(ratio.median),
    goal,
  });
  const spread = `${ratio.median.toFixed(3)} (${ratio.low.toFixed(3)}–${ratio.high.toFixed(3)})`;
  console.log(
    `program   10^${Math.log10(size)}  bare ${ms(without)} program ${ms(within)} ratio ${spread}  ${verdict(ratio.median, goal)}`,
  );
}

async function training(): Promise<void> {
  const before = live();
  const target = await jaxArray(Float64Array.from({ length: STEP_SIZE }, (_, i) => 1 + (i % 3)));
  const w = await jaxArray(new Float64Array(STEP_SIZE).fill(0.5));
  let x = await jaxArray(new Float64Array(STEP_SIZE).fill(1));
  const loss = (x: np.Array, w: np.Array, goal: np.Array): np.Array => np.mean(np.square(y(x, w).sub(goal)));
  const step = jit(valueAndGrad(loss));
  const times: number[] = [];
  const used: number[] = [];
  const arrays: number[] = [];
  for (let i = 1; i <= STEPS; i++) {
    times.push(
      await timed(async () => {
        const [value, gradient] = await step(x.ref, w.ref, target.ref);
        value.dispose();
        x = x.sub(gradient.mul(0.5));
        await x.blockUntilReady();
      }),
    );
    if (i % (STEPS / 10) !== 0) continue;
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    used.push((heapUsed + external) / 2 ** 20);
    arrays.push(live() - before);
  }
  step.dispose();
  for (const array of [x, w, target]) array.dispose();
  // The first tenth makes what is kept: compiled stages, connections, buffers. What jax-js has in its own memory is counted as
  // arrays; the process's memory as a whole says more about what else the machine does.
  const [settled = 0] = used;
  const growth = Math.max(0, (used.at(-1) ?? 0) - settled);
  const leak = ((STEPS * 9) / 10) * ((STEP_SIZE * 8) / 2 ** 20);
  const perStep = figures(times);
  rows.push({
    bench: "training",
    size: STEP_SIZE,
    encoding: "base64",
    typescript_ms: round(perStep.median),
    python_ms: null,
    ratio: round(growth / leak),
    goal: GROWTH_GOAL,
  });
  console.log(`training  10^4  step ${ms(perStep)} memory ${used.map((each) => each.toFixed(1)).join(" ")} MiB`);
  console.log(`                arrays of jax-js ${arrays.join(" ")}, and ${live() - before} at the end`);
  console.log(
    `                grown by ${growth.toFixed(1)} MiB; an array leaked in each step would be ${leak.toFixed(0)} MiB  ${verdict(growth / leak, GROWTH_GOAL)}`,
  );
}

const verdict = (value: number, goal: number | null): string =>
  goal === null ? "" : `goal ${goal} ${value <= goal ? "met" : "MISSED"}`;

console.log(
  `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? "?"}; the median, and the quartiles in parentheses`,
);
for (const size of SIZES) await overhead(size);
await training();
await writeFile(new URL("results/jax.json", import.meta.url), `${JSON.stringify(rows, undefined, 2)}\n`);
