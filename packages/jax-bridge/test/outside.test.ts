// Arrays that a function takes from outside.

import { numpy as np } from "@jax-js/jax";
import { expect, test } from "vitest";
import { applyTesseract, grad, jaxArray, jit, valueAndGrad } from "../src/index.js";
import { type Fake, square } from "./fake-tesseract.js";

const call = (fake: Fake, x: np.Array): np.Array =>
  (applyTesseract(fake.tesseract, { x }) as unknown as { y: np.Array }).y;

test("jit takes over what its function consumes without .ref, and may be called again", async () => {
  const fake = square();
  const measured = await jaxArray([1, 2, 3]);
  const step = jit(valueAndGrad((x: np.Array) => np.mean(np.square(call(fake, x).sub(measured)))));
  for (let i = 0; i < 3; i++) {
    const [value, gradient] = await step(new Float64Array([2, 3, 4]));
    expect(await value.jsAsync()).toBeCloseTo((3 ** 2 + 7 ** 2 + 13 ** 2) / 3, 12);
    expect(await gradient.jsAsync()).toEqual([8, 28, (2 / 3) * 13 * 8].map((each) => expect.closeTo(each, 12)));
  }
  step.dispose();
});

test("with .ref it stays as it was, with jit and without, and also where calls are interrupted or fail", async () => {
  const fake = square();
  const measured = await jaxArray([1, 2, 3]);
  const loss = (x: np.Array): np.Array => np.sum(call(fake, x.mul(measured.ref)).sub(measured.ref));
  const compiled = jit(grad(loss));
  for (let i = 0; i < 3; i++) {
    await grad(loss)(new Float64Array([1, 1, 1]));
    await compiled(new Float64Array([1, 1, 1]));
  }
  compiled.dispose();
  expect(measured.refCount).toBe(1);
});

test("without jit it is consumed once, as by jax-js, and the next call says what to do", async () => {
  const fake = square();
  const measured = await jaxArray([1, 2, 3]);
  const loss = (x: np.Array): np.Array => np.sum(call(fake, x).sub(measured));
  expect(await (await grad(loss)(new Float64Array([1, 2, 3]))).jsAsync()).toEqual([2, 4, 6]);
  const failure = await Promise.resolve(grad(loss)(new Float64Array([1, 2, 3]))).catch((error: unknown) => error);
  expect(measured.refCount).toBe(0);
  expect(failure).toMatchObject({ code: "ARRAY_CONSUMED", hint: expect.stringContaining(".ref") });
});
