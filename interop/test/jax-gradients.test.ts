// Gradients of programs, against finite differences of their values.

import type { Tesseract } from "@tesseract-ts/core";
import { grad, jit } from "@tesseract-ts/jax-bridge";
import { beforeAll, expect, test } from "vitest";
import { connect } from "../src/connect.js";
import { describeWithRuntime, START_TIMEOUT, sharedRuntimes } from "../src/with-runtime.js";
import { programFunctions, scalar, type Tesseracts } from "./jax/programs.js";

const { elementwise, elementwise32, vectors } = sharedRuntimes({
  elementwise: { fixture: "elementwise" },
  elementwise32: { fixture: "elementwise32" },
  vectors: { fixture: "vectors" },
});

describeWithRuntime("1.15", "a gradient is what finite differences give", () => {
  const clients: Tesseract[] = [];
  beforeAll(async () => {
    for (const runtime of [elementwise(), elementwise32(), vectors()]) clients.push(await connect(runtime));
    return async () => {
      await Promise.all(clients.map((client) => client.close()));
    };
  }, START_TIMEOUT);

  // Which functions there are doesn't depend on the Tesseracts that they call. float32 is too coarse for differences.
  const known = Object.keys(programFunctions({} as Tesseracts)).filter(
    (name) => !["float32", "dictionary"].includes(name),
  );
  test.concurrent.each(known)("%s", async (name) => {
    const [first, second, third] = clients as [Tesseract, Tesseract, Tesseract];
    const f = programFunctions({ elementwise: first, elementwise32: second, vectors: third })[name];
    if (f === undefined) throw new Error(`There is no function ${name}`);
    const at: readonly [number[], number[]] = [
      [0.5, 1.25, -0.75],
      [1.5, -0.5, 2],
    ];
    const loss = jit(scalar(f));
    const value = async (x: readonly number[], w: readonly number[]): Promise<number> =>
      (await (await loss(Float64Array.from(x), Float64Array.from(w))).jsAsync()) as number;
    const [byX, byW] = await jit(grad(scalar(f), { argnums: [0, 1] }))(
      Float64Array.from(at[0]),
      Float64Array.from(at[1]),
    );
    const gradients = [(await byX.jsAsync()) as number[], (await byW.jsAsync()) as number[]];
    // What counts as constant in a gradient changes in a difference.
    const argument = name === "stopped" || name === "stopped_output" ? undefined : [0, 1];
    for (const which of argument ?? []) {
      for (const [index, derivative] of (gradients[which] ?? []).entries()) {
        const moved = (by: number): number[][] =>
          at.map((list, each) => (each === which ? list.map((v, i) => (i === index ? v + by : v)) : list));
        const [up, down] = [moved(1e-5), moved(-1e-5)];
        const difference = (await value(up[0] ?? [], up[1] ?? [])) - (await value(down[0] ?? [], down[1] ?? []));
        expect(Math.abs(difference / 2e-5 - derivative)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(derivative)));
      }
    }
    expect(gradients.flat().every(Number.isFinite)).toBe(true);
  });
});
