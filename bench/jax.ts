// What a program costs over the bare call, and whether a training loop keeps its memory:
//
//   npx tsx --conditions source --expose-gc bench/jax.ts

import { numpy as np } from "@jax-js/jax";
import { fromUrl } from "@tesseract-ts/core";
import { applyTesseract, jaxArray, jit, valueAndGrad } from "@tesseract-ts/jax-bridge";
import { host } from "@tesseract-ts/transport-host";
import { serve } from "../examples/heat/serve.js";

const SIZE = 100_000;
const REPEATS = 60;
const STEPS = 1_000;
const STEP_SIZE = 10_000;

await using server = await serve(
  new URL("../interop/fixtures/elementwise/tesseract_api.py", import.meta.url),
  new AbortController().signal,
);
await using tesseract = await fromUrl(server.url, { transports: [host()] });

type Outputs = { readonly y: np.Array };

async function overhead(): Promise<void> {
  const values = Float64Array.from({ length: SIZE }, (_, i) => Math.sin(i));
  const x = await jaxArray(values);
  const program = jit((x: np.Array) => (applyTesseract(tesseract, { x: x.ref, w: x }) as unknown as Outputs).y);
  const bare = async (): Promise<void> => {
    const { y } = await tesseract.apply({ x: values, w: values });
    if (y?.data.length !== SIZE) throw new Error("The answer is incomplete.");
  };
  const cached = async (): Promise<void> => {
    const y = await program(x.ref);
    if (y.size !== SIZE) throw new Error("The answer is incomplete.");
    y.dispose();
  };
  const times = { bare: [] as number[], cached: [] as number[] };
  for (let i = 0; i < 10; i++) await Promise.all([bare(), cached()]);
  // In turn, so that both meet the same machine.
  for (let i = 0; i < REPEATS; i++) {
    times.bare.push(await measured(bare));
    times.cached.push(await measured(cached));
  }
  const [without, within] = [median(times.bare), median(times.cached)];
  console.log(`apply of ${SIZE} float64: bare ${without.toFixed(2)} ms, cached program ${within.toFixed(2)} ms`);
  console.log(`overhead ${(100 * (within / without - 1)).toFixed(1)} %, the goal is at most 20 %`);
}

async function memory(): Promise<void> {
  const target = await jaxArray(Float64Array.from({ length: STEP_SIZE }, (_, i) => 1 + (i % 3)));
  const loss = (x: np.Array, w: np.Array, target: np.Array): np.Array =>
    np.mean(np.square((applyTesseract(tesseract, { x, w }) as unknown as Outputs).y.sub(target)));
  const step = jit(valueAndGrad(loss));
  const w = await jaxArray(new Float64Array(STEP_SIZE).fill(0.5));
  let x = await jaxArray(new Float64Array(STEP_SIZE).fill(1));
  const used: number[] = [];
  for (let i = 1; i <= STEPS; i++) {
    const [value, gradient] = await step(x.ref, w.ref, target.ref);
    value.dispose();
    x = x.sub(gradient.mul(0.5));
    await x.blockUntilReady();
    if (i % (STEPS / 10) === 0) {
      globalThis.gc?.();
      used.push(process.memoryUsage().rss / 2 ** 20);
    }
  }
  console.log(
    `resident memory each ${STEPS / 10} steps of ${STEP_SIZE} float64: ${used.map((each) => each.toFixed(0)).join(", ")} MiB`,
  );
  console.log(`a leaked array in each step would be ${((STEPS * STEP_SIZE * 8) / 2 ** 20).toFixed(0)} MiB`);
  console.log(`references: x ${x.refCount}, w ${w.refCount}, target ${target.refCount}`);
}

async function measured(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

await overhead();
await memory();
