/** Programs that are kept, with stages that jax-js compiles. */
import type { Program } from "../program/program.js";
import { currentContext } from "../program/trace-context.js";
import { signatureKey } from "../program/traced-function.js";
import { callable, type RunProgramOptions } from "./program-call.js";
import { type ProgramSource, sourceOf } from "./source.js";
import type { ArgumentsOf, ProgramCall, ProgramFunction, ResultOf } from "./types.js";

export interface JitOptions extends RunProgramOptions {
  /** Arguments that are taken as they are; each of their values is a program of its own. */
  readonly staticArgnums?: readonly number[] | undefined;
}

export interface Jitted<A extends unknown[], R> extends ProgramCall<A, R> {
  /** Ends all programs that were kept, and what jax-js keeps for them. */
  dispose(): void;
}

/**
 * Keeps the programs of a function, one for each kind of arguments (their shapes, dtypes, static values and tree), and has
 * jax-js compile the stages between calls. The function itself isn't executed again, so what it takes from outside stays
 * as it was.
 *
 * jax-js arrays among the arguments are consumed, as jax-js's functions do; the results are the caller's.
 *
 * @example
 * const step = jit(valueAndGrad(loss));
 * const [value, gradient] = await step(guess);
 */
export function jit<F extends ProgramFunction>(f: F, options: JitOptions = {}): Jitted<ArgumentsOf<F>, ResultOf<F>> {
  const inner = sourceOf(f);
  const kept = new Map<string, Program>();
  const source: ProgramSource = {
    name: inner.name,
    build: (signature, { sowTag }) => {
      // Within another program it may use that one's values, and that one is compiled as a whole.
      if (currentContext() !== undefined) return inner.build(signature, { compile: false, sowTag });
      const key = `${signatureKey(signature)} ${sowTag}`;
      let program = kept.get(key);
      if (program === undefined) {
        program = inner.build(signature, { compile: true, sowTag });
        kept.set(key, program);
      }
      return { ...program, dispose: () => {} };
    },
  };
  const call = callable(source, { ...options, keepsPrograms: true });
  return Object.assign(call, {
    dispose: () => {
      for (const program of kept.values()) program.dispose();
      kept.clear();
    },
  }) as Jitted<ArgumentsOf<F>, ResultOf<F>>;
}
