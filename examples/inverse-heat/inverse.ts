// The inverse problem: which sources of heat explain the temperatures that were measured?

import { numpy as np } from "@jax-js/jax";
import type { HostArray, Tesseract } from "@tesseract-ts/core";
import { applyTesseract, jit, valueAndGrad } from "@tesseract-ts/jax-bridge";
import { adam, adamState } from "./adam.js";

export interface Problem {
  /** Points along each side of the plate. */
  readonly size: number;
  readonly truth: Float64Array;
  /** Temperatures where there is a sensor, 0 elsewhere. */
  readonly measured: Float64Array;
  /** 1 where there is a sensor, 0 elsewhere. */
  readonly sensors: Float64Array;
}

export interface Step {
  readonly step: number;
  readonly loss: number;
  /** The mean distance from the true source, which a real problem wouldn't know. */
  readonly error: number;
}

export const simulation = { conductivity: 1, steps: 60, dt: 0.2 };

/** Sources in a plate, measured at every other point with a little noise. */
export async function makeProblem(heat: Tesseract, size: number): Promise<Problem> {
  const at = (f: (x: number, y: number) => number): Float64Array =>
    Float64Array.from({ length: size * size }, (_, i) => f((i % size) / (size - 1), Math.floor(i / size) / (size - 1)));
  const bump = (x: number, y: number, x0: number, y0: number, width: number): number =>
    Math.exp(-((x - x0) ** 2 + (y - y0) ** 2) / (2 * width ** 2));
  const truth = at((x, y) => bump(x, y, 0.3, 0.35, 0.09) + 0.7 * bump(x, y, 0.72, 0.6, 0.12));
  const source = { dtype: "float64", shape: [size, size], data: truth } as const;
  const { temperature } = (await heat.apply({ source, ...simulation })) as { temperature?: HostArray };
  if (temperature?.dtype !== "float64") throw new Error("The plate has no temperature of float64.");
  const sensors = Float64Array.from({ length: size * size }, (_, i) =>
    Number(i % 2 === 0 && Math.floor(i / size) % 2 === 0),
  );
  const random = randomNumbers(7);
  const measured = temperature.data.map((value, i) => (sensors[i] ?? 0) * (value + 0.01 * (random() - 0.5)));
  return { size, truth, measured, sensors };
}

/**
 * Gradient descent from no sources at all.
 *
 * @param report called after each step
 * @returns the recovered source
 */
export async function recover(
  heat: Tesseract,
  { size, truth, measured, sensors }: Problem,
  steps: number,
  report: (step: Step) => void,
  signal?: AbortSignal,
): Promise<Float64Array> {
  const loss = (source: np.Array, measured: np.Array, sensors: np.Array): np.Array => {
    const { temperature } = applyTesseract(heat, { source: source.ref, ...simulation }) as unknown as {
      temperature: np.Array;
    };
    const misfit = np.sum(np.square(temperature.sub(measured).mul(sensors)));
    // Sources are smooth: neighbours differ little.
    const across = source.ref.slice([1, size], []).sub(source.ref.slice([0, size - 1], []));
    const down = source.ref.slice([], [1, size]).sub(source.slice([], [0, size - 1]));
    return misfit.add(
      np
        .sum(np.square(across))
        .add(np.sum(np.square(down)))
        .mul(0.125),
    );
  };
  const lossAndGradient = jit(valueAndGrad(loss), { signal });
  const update = adam({ rate: 0.03 });
  const plate = (data: Float64Array) => ({ dtype: "float64", shape: [size, size], data }) as const;
  let state = adamState(np.zeros([size, size], { dtype: np.float64 }));
  try {
    for (let step = 1; step <= steps; step++) {
      const [value, gradient] = await lossAndGradient(state.parameters.ref, plate(measured), plate(sensors));
      state = await update(state, gradient, step);
      const source = (await state.parameters.ref.data()) as Float64Array;
      const error = source.reduce((sum, each, i) => sum + Math.abs(each - (truth[i] ?? 0)), 0) / source.length;
      report({ step, loss: Number((await value.data())[0]), error });
    }
    const recovered = (await state.parameters.data()) as Float64Array;
    state.mean.dispose();
    state.square.dispose();
    return recovered;
  } finally {
    lossAndGradient.dispose();
    update.dispose();
  }
}

/** Repeatable numbers from 0 to below 1. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
