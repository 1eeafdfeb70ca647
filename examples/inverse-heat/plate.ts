// Heat conduction in a square plate whose edges are kept at 0: `tesseract_api.py` once more, in TypeScript.
//
//     dT/dt = conductivity * laplace(T) + source,  T = 0 in the beginning
//
// The operations and their order are the same, so the numbers are too.

import type { HostArray } from "@tesseract-ts/core";
import { array, defineTesseract, differentiable } from "@tesseract-ts/inprocess";
import { z } from "zod";

const plate = () => differentiable(array("float64", [null, null])); // (n, n)

interface Simulation {
  readonly conductivity: number;
  readonly steps: number;
  readonly dt: number;
}

export default defineTesseract({
  name: "plate",
  inputs: z.object({
    source: plate(),
    conductivity: z.number().default(1),
    steps: z.int().min(1).max(100_000).default(60),
    dt: z.number().default(0.2).describe("Stable up to 0.25 / conductivity, with a distance of 1 between points."),
  }),
  outputs: z.object({ temperature: plate() }),
  apply: (inputs) => ({ temperature: simulate(inputs.source, inputs) }),
  abstractEval: ({ source }) => ({ temperature: { shape: source.shape, dtype: "float64" } }),
  // The temperature is linear in the source, and the discrete Laplacian is symmetric.
  jacobianVectorProduct: ({ inputs, tangents: { source } }) => ({ temperature: simulate(source, inputs) }),
  vectorJacobianProduct: ({ inputs, cotangents: { temperature } }) => ({ source: simulate(temperature, inputs) }),
});

function simulate(source: HostArray<"float64"> | undefined, { conductivity, steps, dt }: Simulation): HostArray {
  if (source === undefined) throw new TypeError("A product needs its vector.");
  const { data, shape } = source;
  const [rows = 0, columns = 0] = shape;
  let temperature = new Float64Array(data.length);
  for (let step = 0; step < steps; step++) {
    const next = new Float64Array(data.length);
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const at = row * columns + column;
        const here = temperature[at] ?? 0;
        const above = row === 0 ? 0 : (temperature[at - columns] ?? 0);
        const below = row === rows - 1 ? 0 : (temperature[at + columns] ?? 0);
        const left = column === 0 ? 0 : (temperature[at - 1] ?? 0);
        const right = column === columns - 1 ? 0 : (temperature[at + 1] ?? 0);
        const laplace = above + below + left + right - 4 * here;
        next[at] = here + dt * (conductivity * laplace + (data[at] ?? 0));
      }
    }
    temperature = next;
  }
  return { dtype: "float64", shape, data: temperature };
}
