// Further results beside what is differentiated, and values from the middle of a program.
import { numpy as np } from "@jax-js/jax";
import { describe, expect, test } from "vitest";
import {
  applyTesseract,
  grad,
  jacfwd,
  jacrev,
  jaxArray,
  jit,
  jvp,
  linearize,
  saveIntermediates,
  sow,
  valueAndGrad,
  vjp,
} from "../src/index.js";
import { type Fake, square } from "./fake-tesseract.js";

const squares = (fake: Fake, x: np.Array): np.Array => applyTesseract(fake.tesseract, { x }).y as unknown as np.Array;
const numbers = async (array: unknown): Promise<unknown> => (array as np.Array).jsAsync();

/** The sum of the squares, and beside it the squares themselves, three times. */
const loss =
  (fake: Fake) =>
  (x: np.Array): [np.Array, { readonly tripled: np.Array }] => {
    const y = squares(fake, x);
    return [np.sum(y.ref), { tripled: y.mul(3) }];
  };
/** The squares, and their sum beside them. */
const beside =
  (fake: Fake) =>
  (x: np.Array): [np.Array, np.Array] => {
    const y = squares(fake, x);
    return [y.ref, np.sum(y)];
  };

describe("hasAux", () => {
  test("gives the gradient, and what is beside the value", async () => {
    const [gradient, { tripled }] = await grad(loss(square()), { hasAux: true })(await jaxArray([1, 2, 3]));
    expect([await numbers(gradient), await numbers(tripled)]).toEqual([
      [2, 4, 6],
      [3, 12, 27],
    ]);
  });

  test("gives value, aux and gradient in one pass", async () => {
    const fake = square();
    const compiled = jit(valueAndGrad(loss(fake), { hasAux: true }));
    const [[value, { tripled }], gradient] = await compiled(await jaxArray([1, 2, 3]));
    expect([await numbers(value), await numbers(tripled), await numbers(gradient)]).toEqual([
      14,
      [3, 12, 27],
      [2, 4, 6],
    ]);
    expect(fake.routes().filter((route) => route === "apply")).toHaveLength(1);
  });

  test.each([
    ["jacfwd", jacfwd],
    ["jacrev", jacrev],
  ])("leaves aux out of %s", async (_, jacobian) => {
    const result = await jacobian(beside(square()), { hasAux: true })(await jaxArray([1, 2]));
    const [matrix, total] = result as unknown as [np.Array, np.Array];
    expect([await numbers(matrix), await numbers(total)]).toEqual([
      [
        [2, 0],
        [0, 4],
      ],
      5,
    ]);
  });

  test("stands beside the functions that vjp and linearize give, and beside jvp's tangents", async () => {
    const x = await jaxArray([1, 2]);
    const [y, pull, total] = await vjp(beside(square()), [x.ref], { hasAux: true });
    const [cotangent] = await pull(await jaxArray([1, 10]));
    expect([await numbers(y), await numbers(cotangent), await numbers(total)]).toEqual([[1, 4], [2, 40], 5]);
    pull.dispose();
    const [z, push, sum] = await linearize(beside(square()), [x.ref], { hasAux: true });
    expect([await numbers(z), await numbers(sum)]).toEqual([[1, 4], 5]);
    expect(await numbers(await push(await jaxArray([1, 10])))).toEqual([2, 40]);
    push.dispose();
    const [value, change, aux] = await jvp(beside(square()), [x], [await jaxArray([1, 10])], { hasAux: true });
    expect([await numbers(value), await numbers(change), await numbers(aux)]).toEqual([[1, 4], [2, 40], 5]);
  });

  test("of a function that gives no pair is an error that says so", async () => {
    const fake = square();
    const single = (x: np.Array) => np.sum(squares(fake, x)) as unknown as [np.Array, np.Array];
    await expect(grad(single, { hasAux: true })(await jaxArray([1]))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringContaining("[value, aux]"),
    });
  });
});

test("values are sown in groups, and one group is saved", async () => {
  const fake = square();
  const f = (x: np.Array): np.Array => {
    const y = sow(squares(fake, x), "squares", { tag: "debugging" });
    return np.sum(sow(y.mul(2), "doubled"));
  };
  const [, usual] = await saveIntermediates(f)(await jaxArray([1, 2]));
  expect(Object.keys(usual)).toEqual(["doubled"]);
  const [, debugging] = await saveIntermediates(f, { tag: "debugging" })(await jaxArray([1, 2]));
  expect(Object.keys(debugging)).toEqual(["squares"]);
  expect(await numbers(debugging.squares?.primal)).toEqual([1, 4]);
});
