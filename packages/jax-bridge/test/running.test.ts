// How programs run: signals, timeouts and devices, for every transformation.

import { numpy as np } from "@jax-js/jax";
import { describe, expect, test } from "vitest";
import {
  applyTesseract,
  grad,
  hessian,
  jacfwd,
  jacrev,
  jaxArray,
  jit,
  jvp,
  linearize,
  makeProgram,
  type RunProgramOptions,
  saveIntermediates,
  valueAndGrad,
  vjp,
  vmap,
} from "../src/index.js";
import { type Fake, square } from "./fake-tesseract.js";

type Loss = (x: np.Array) => np.Array;

const y = (fake: Fake, x: np.Array): np.Array =>
  (applyTesseract(fake.tesseract, { x }, { vmapMethod: "sequential" }) as unknown as { y: np.Array }).y;

const ran: Readonly<Record<string, (f: Loss, x: np.Array, options: RunProgramOptions) => Promise<unknown>>> = {
  jit: async (f, x, options) => jit(f, options)(x),
  grad: async (f, x, options) => grad(f, options)(x),
  valueAndGrad: async (f, x, options) => valueAndGrad(f, options)(x),
  jacfwd: async (f, x, options) => jacfwd(f, options)(x),
  jacrev: async (f, x, options) => jacrev(f, options)(x),
  hessian: async (f, x, options) => hessian((x: np.Array) => f(x), options)(x),
  vmap: async (f, x, options) => vmap(f, 0, options)(x.reshape([1, 2])),
  jvp: async (f, x, options) => jvp(f, [x.ref], [x], options),
  vjp: async (f, x, options) => vjp(f, [x], options),
  linearize: async (f, x, options) => linearize(f, [x], options),
  makeProgram: async (f, x, { signal, timeout }) => makeProgram(f, { signal, timeout })(x),
  saveIntermediates: async (f, x, options) => saveIntermediates(f, options)(x),
};

describe.each(Object.keys(ran))("%s", (name) => {
  const run = (fake: Fake, options: RunProgramOptions): Promise<unknown> => {
    const each = ran[name];
    if (each === undefined) throw new Error(`There is no ${name}`);
    return jaxArray([1, 2]).then((x) => each((x) => np.sum(y(fake, x)), x, options));
  };

  test("ends when its signal is aborted, while a Tesseract is asked for its shapes", async () => {
    const aborting = new AbortController();
    const fake = square({ delay: 60_000 });
    const running = run(fake, { signal: aborting.signal });
    running.catch(() => undefined);
    await expect.poll(fake.routes, { timeout: 30_000 }).toEqual(["abstract_eval"]);
    aborting.abort();
    await expect(running).rejects.toMatchObject({ code: "ABORTED" });
  });

  test("ends when its time is over", async () => {
    await expect(run(square({ delay: 60_000 }), { timeout: 1 })).rejects.toMatchObject({ code: "TIMEOUT" });
  });
});

test("what says how vjp runs says how its pullback does", async () => {
  const fake = square();
  const aborting = new AbortController();
  const [, pull] = await vjp((x: np.Array) => y(fake, x), [await jaxArray([1, 2])], { signal: aborting.signal });
  aborting.abort();
  await expect(pull(await jaxArray([1, 1]))).rejects.toThrow();
  expect(fake.routes()).not.toContain("vector_jacobian_product");
  pull.dispose();
});
