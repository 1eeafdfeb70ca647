/** Derivatives and batches of a stage, by jax-js. */
import { type JaxArray, jax } from "../jax.js";
import { type StageFunction, take } from "../program/stage.js";
import { total } from "./extension.js";

type Listed = (...inputs: JaxArray[]) => JaxArray[];

/** The stage as a function of some inputs, with the others as they are, giving some outputs. */
function partial(
  full: StageFunction,
  given: readonly JaxArray[],
  wrt: readonly number[],
  outputs: readonly number[],
): Listed {
  const others = given.map((input, index) => (wrt.includes(index) ? undefined : input));
  return (...varying) => {
    const inputs = [...others];
    wrt.forEach((position, index) => {
      inputs[position] = varying[index];
    });
    return [...take(full(inputs as JaxArray[]), outputs)];
  };
}

/**
 * From the stage's inputs, then a tangent for each of `wrt`, to the tangents of `outputs`.
 *
 * @param count how many inputs the stage has
 */
export const pushforward =
  (count: number, wrt: readonly number[], outputs: readonly number[]) =>
  (full: StageFunction): StageFunction =>
  (given) => {
    const primals = given.slice(0, count);
    const differentiated = wrt.flatMap((position) => primals[position] ?? []);
    const [values, tangents] = jax().jvp(partial(full, primals, wrt, outputs), differentiated, given.slice(count));
    for (const value of values) value.dispose();
    return tangents;
  };

/**
 * From the stage's inputs, then the contributions to the cotangents of `outputs`, to the cotangents of `wrt`.
 *
 * @param contributions how many there are for each of `outputs`, which are added up
 */
export const pullback =
  (count: number, wrt: readonly number[], outputs: readonly number[], contributions: readonly number[]) =>
  (full: StageFunction): StageFunction =>
  (given) => {
    const primals = given.slice(0, count);
    const differentiated = wrt.flatMap((position) => primals[position] ?? []);
    let next = count;
    const cotangents = contributions.map((length) => {
      const parts = given.slice(next, next + length);
      next += length;
      return total(parts);
    });
    const [values, pull] = jax().vjp(partial(full, primals, wrt, outputs), differentiated);
    for (const value of values) value.dispose();
    const results = pull(cotangents as never) as unknown as JaxArray[];
    pull.dispose();
    return results;
  };

/** Along the first dimension of the inputs that have the batch. */
export const batchedStage =
  (mapped: readonly boolean[]) =>
  (full: StageFunction): StageFunction =>
  (given) =>
    jax().vmap(
      ((...inputs: JaxArray[]) => [...full(inputs)]) as Listed,
      mapped.map((each) => (each ? 0 : null)),
    )(...(given as JaxArray[]));
