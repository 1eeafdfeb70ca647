// A run of the simulation: one call after the other, each from where the last one came to.

import type { HostArray, Tesseract } from "@tesseract-ts/core";

type Field = HostArray<"float32">;

export interface GrayScott {
  inputs: { u: Field; v: Field; feed: number; kill: number; steps: number };
  outputs: { u: Field; v: Field; amount: HostArray<"float64"> };
}

export interface Settings {
  readonly feed: number;
  readonly kill: number;
  /** Cells along each side. */
  readonly size: number;
  readonly steps: number;
}

export interface State {
  readonly step: number;
  readonly v: Float32Array;
  /** The mean of v. */
  readonly amount: number;
}

/** Steps of one call: short enough to show progress, long enough that the calls themselves cost little. */
const STEPS_OF_A_CALL = 250;

/**
 * Gives the state before the first step, and after each call.
 *
 * @throws TesseractError ABORTED once `signal` is, and as any call does
 */
export async function* simulate(
  tesseract: Tesseract<GrayScott>,
  { feed, kill, size, steps }: Settings,
  signal: AbortSignal,
): AsyncGenerator<State> {
  let { u, v } = seeds(size);
  yield { step: 0, v: v.data, amount: v.data.reduce((sum, value) => sum + value, 0) / v.data.length };
  for (let step = 0; step < steps; ) {
    const more = Math.min(STEPS_OF_A_CALL, steps - step);
    const next = await tesseract.apply({ u, v, feed, kill, steps: more }, { signal });
    ({ u, v } = next);
    step += more;
    yield { step, v: v.data, amount: next.amount.data[0] ?? Number.NaN };
  }
}

/** Everywhere u alone, but for some squares with v in them: the same each time. */
export function seeds(size: number): { readonly u: Field; readonly v: Field } {
  const u = new Float32Array(size * size).fill(1);
  const v = new Float32Array(size * size);
  const side = Math.max(2, Math.round(size / 16));
  for (let seed = 0; seed < 12; seed++) {
    const [top, left] = [
      Math.floor(((seed * 0.754_877_666) % 1) * size),
      Math.floor(((seed * 0.569_840_291) % 1) * size),
    ];
    for (let i = 0; i < side * side; i++) {
      const [row, column] = [(top + Math.floor(i / side)) % size, (left + (i % side)) % size];
      u[row * size + column] = 0.5;
      v[row * size + column] = 0.25;
    }
  }
  const field = (data: Float32Array): Field => ({ dtype: "float32", shape: [size, size], data });
  return { u: field(u), v: field(v) };
}
