// Every array that a program makes ends: jax-js holds as much memory after it as before.

import { numpy as np, tree } from "@jax-js/jax";
import { describe, expect, test } from "vitest";
import { countLiveArrays } from "../../../interop/src/jax-live-arrays.js";
import {
  programArrays,
  programFunctions,
  type Tesseracts,
  transformations,
} from "../../../interop/test/jax/programs.js";
import { applyTesseract, grad, jaxArray, jit, saveIntermediates, sow, valueAndGrad, vjp } from "../src/index.js";
import { type Fake, square } from "./fake-tesseract.js";

const live = await countLiveArrays();

/** jax-js's workers hold arrays for a moment after their last use. */
const expectLive = (count: number): Promise<void> => expect.poll(live, { timeout: 30_000 }).toBe(count);

const call = (fake: Fake, x: np.Array): np.Array =>
  (applyTesseract(fake.tesseract, { x }) as unknown as { y: np.Array }).y;

describe.each(["mixed", "output_twice"])("of the function %s nothing is left by", (name) => {
  test.each(Object.keys(transformations))("%s", async (transformation) => {
    const f = programFunctions({ elementwise: square().tesseract } as unknown as Tesseracts)[name];
    const program = f === undefined ? undefined : transformations[transformation]?.(f);
    if (program === undefined) throw new Error(`There is no program ${transformation} of ${name}`);
    const before = live();
    const arrays = await programArrays("float64");
    const given = live();
    tree.dispose((await program(arrays)) as np.Array);
    const kept = program.dispose === undefined ? given : undefined;
    if (kept !== undefined) await expectLive(kept);
    tree.dispose((await program(arrays)) as np.Array);
    program.dispose?.();
    await expectLive(given);
    expect(Object.values(arrays).map((array: np.Array) => array.refCount)).toEqual([1, 1, 1, 1, 1, 1]);
    tree.dispose(Object.values(arrays));
    await expectLive(before);
  });
});

test("a training loop holds as many arrays after a hundred steps as after one", async () => {
  const before = live();
  const target = await jaxArray([1, 4, 9]);
  const step = jit(valueAndGrad((x: np.Array, goal: np.Array) => np.mean(np.square(call(fake, x).sub(goal)))));
  const fake = square();
  let x = await jaxArray([2, 3, 4]);
  let first: number | undefined;
  for (let i = 0; i < 100; i++) {
    const [value, gradient] = await step(x.ref, target.ref);
    value.dispose();
    x = x.sub(gradient.mul(0.001));
    await x.blockUntilReady();
    first ??= live();
  }
  await expect.poll(live, { timeout: 30_000 }).toBeLessThanOrEqual(first ?? 0);
  step.dispose();
  tree.dispose([x, target]);
  await expectLive(before);
});

test("nothing is left by programs that fail while they are built, while they run, or that are aborted", async () => {
  const before = live();
  const failing = square({
    apply: () => {
      throw new Error("diverged");
    },
  });
  const slow = square({ delay: 10_000 });
  const outside = await jaxArray([1, 2]);
  const loss = (fake: Fake) => (x: np.Array) => np.sum(call(fake, call(fake, x.mul(outside.ref))).mul(outside.ref));
  const compiled = jit(loss(failing));
  await expect(compiled(await jaxArray([1, 2]))).rejects.toThrow("diverged");
  compiled.dispose();
  await expect(grad((x: np.Array) => (Number(x.mul(outside.ref)) > 0 ? x : x))(await jaxArray([1, 2]))).rejects.toThrow(
    expect.objectContaining({ code: "VALUE_UNKNOWN" }),
  );
  const signal = AbortSignal.timeout(1);
  await expect(grad(loss(slow), { signal })(await jaxArray([1, 2]))).rejects.toMatchObject({ code: "ABORTED" });
  expect(outside.refCount).toBe(1);
  outside.dispose();
  await expectLive(before);
});

test("a pullback keeps what it needs until it is disposed", async () => {
  const before = live();
  const fake = square();
  const [value, pull] = await vjp((x: np.Array) => call(fake, x), [await jaxArray([1, 2])]);
  value.dispose();
  const [cotangent] = await pull(await jaxArray([1, 1]));
  cotangent.dispose();
  expect(live()).toBeGreaterThan(before);
  pull.dispose();
  await expectLive(before);
});

test("what was sown is the caller's", async () => {
  const before = live();
  const fake = square();
  const loss = (x: np.Array) => np.sum(np.square(sow(call(fake, x), "squares")));
  const [gradient, intermediates] = await saveIntermediates(grad(loss))(await jaxArray([1, 2]));
  gradient.dispose();
  tree.dispose(intermediates as never);
  await expectLive(before);
});
