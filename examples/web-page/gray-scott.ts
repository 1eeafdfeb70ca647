// Two substances that react and spread, on a square whose opposite edges meet (P. Gray, S. K. Scott, 1984; J. E. Pearson,
// https://doi.org/10.1126/science.261.5118.189). `v` feeds on `u`: u + 2v -> 3v.
//
//     du/dt = 0.16 laplace(u) - u v^2 + feed (1 - u)
//     dv/dt = 0.08 laplace(v) + u v^2 - (feed + kill) v
//
// Explicit steps of length 1, with a distance of 1 between cells.

import type { HostArray } from "@tesseract-ts/core";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

const field = () => array("float32", [null, null]);

export default defineTesseract({
  name: "gray-scott",
  // In a thread, so that the server answers meanwhile, and a call ends when its client has gone.
  runIn: "worker",
  inputs: z.object({
    u: field(),
    v: field(),
    feed: z.number().min(0).max(0.1).default(0.037).describe("How fast u is added, and both are washed away."),
    kill: z.number().min(0).max(0.1).default(0.06).describe("How fast v decays besides."),
    steps: z.int().min(1).max(100_000).default(100),
  }),
  outputs: z.object({ u: field(), v: field(), amount: array("float64", []).describe("The mean of v.") }),
  apply: ({ u, v, feed, kill, steps }, { signal }) => {
    if (u.shape.join() !== v.shape.join()) throw new TypeError("u and v must have one shape.");
    const [rows = 0, columns = 0] = u.shape;
    let now: Fields = { u: u.data, v: v.data };
    let next: Fields = { u: new Float32Array(u.data.length), v: new Float32Array(v.data.length) };
    for (let step = 0; step < steps && !signal.aborted; step++) {
      react(now, next, rows, columns, feed, kill);
      // The first fields are the caller's, and aren't written to.
      now = step === 0 ? { u: new Float32Array(u.data.length), v: new Float32Array(v.data.length) } : now;
      [now, next] = [next, now];
    }
    const like = (data: Float32Array): HostArray<"float32"> => ({ dtype: "float32", shape: u.shape, data });
    return { u: like(now.u), v: like(now.v), amount: now.v.reduce((sum, value) => sum + value, 0) / now.v.length };
  },
});

interface Fields {
  readonly u: Float32Array;
  readonly v: Float32Array;
}

/** One step, from `now` to `next`, each (rows, columns) in C order. */
function react(now: Fields, next: Fields, rows: number, columns: number, feed: number, kill: number): void {
  for (let row = 0; row < rows; row++) {
    const above = ((row + rows - 1) % rows) * columns;
    const below = ((row + 1) % rows) * columns;
    const start = row * columns;
    for (let column = 0; column < columns; column++) {
      const here = start + column;
      const left = column === 0 ? start + columns - 1 : here - 1;
      const right = column === columns - 1 ? start : here + 1;
      const u = at(now.u, here);
      const v = at(now.v, here);
      const spreadOfU =
        at(now.u, above + column) + at(now.u, below + column) + at(now.u, left) + at(now.u, right) - 4 * u;
      const spreadOfV =
        at(now.v, above + column) + at(now.v, below + column) + at(now.v, left) + at(now.v, right) - 4 * v;
      const reaction = u * v * v;
      next.u[here] = u + 0.16 * spreadOfU - reaction + feed * (1 - u);
      next.v[here] = v + 0.08 * spreadOfV + reaction - (feed + kill) * v;
    }
  }
}

const at = (values: Float32Array, index: number): number => values[index] ?? Number.NaN;
