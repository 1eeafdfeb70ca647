/** A stage: a pure function of jax-js between two calls. */
import type { ClosedJaxpr, Jaxpr } from "@jax-js/jax";
import { type Aval, zerosOf } from "../arrays/aval.js";
import { isConcreteJaxArray } from "../arrays/kinds.js";
import { programError, translated } from "../errors.js";
import { type JaxArray, jax } from "../jax.js";
import { analyzeEquations, analyzeJaxpr, compilesExactly, type OutputAnalysis } from "./jaxpr.js";
import { nothingOutside, type OutsideArrays } from "./outside.js";

/** Consumes its inputs, as jax-js's functions do, and gives arrays that are the caller's. */
export type StageFunction = (inputs: readonly JaxArray[]) => readonly JaxArray[];

export interface StageFunctions {
  /** Executes the program's function itself. */
  readonly plain: StageFunction;
  /** The same by way of what jax-js has traced before, so that the function isn't executed again. */
  readonly traced: StageFunction;
}

interface Analysis {
  readonly jaxpr: Jaxpr;
  /** How many of the jaxpr's binders come before the inputs. */
  readonly constants: number;
  readonly outputs: readonly OutputAnalysis[];
  readonly exact: boolean;
}

interface Compiled {
  (...inputs: JaxArray[]): JaxArray[];
  dispose(): void;
}

export class Stage {
  private found: Analysis | undefined;
  private compiled: Compiled | undefined;

  constructor(
    readonly name: string,
    readonly inputAvals: readonly Aval[],
    readonly functions: StageFunctions,
    /** Whether it is compiled; else jax-js executes one operation after another. */
    readonly compile: boolean,
    /** What its functions take from outside. */
    readonly outside: OutsideArrays = nothingOutside,
    /** Ends what a trace of it holds. */
    private readonly release: (closed: ClosedJaxpr) => void = releaseConstants,
    /** Its outputs, where they are known without a trace of it. */
    private readonly known?: readonly OutputAnalysis[],
  ) {}

  get outputs(): readonly OutputAnalysis[] {
    return this.known ?? this.analysis.outputs;
  }

  get jaxpr(): Jaxpr {
    return this.analysis.jaxpr;
  }

  /** The outputs, given that some inputs are known to be equal: they have equal names. */
  outputsWith(names: readonly string[]): readonly OutputAnalysis[] {
    const { jaxpr, constants } = this.analysis;
    return analyzeEquations(jaxpr, constants, names);
  }

  /** A stage with some of the outputs, and with the inputs that these need. */
  select(positions: readonly number[]): { readonly stage: Stage; readonly inputs: readonly number[] } {
    const needed = new Set(positions.flatMap((position) => [...(this.outputs[position]?.dependsOn ?? [])]));
    const inputs = this.inputAvals.flatMap((_, index) => (needed.has(index) ? [index] : []));
    const narrowed =
      (full: StageFunction): StageFunction =>
      (given) => {
        const byPosition = new Map(inputs.map((position, index) => [position, given[index]]));
        const outputs = full(this.inputAvals.map((each, index) => byPosition.get(index) ?? zerosOf(each)));
        return take(outputs, positions);
      };
    const stage = new Stage(
      this.name,
      inputs.flatMap((position) => this.inputAvals[position] ?? []),
      mapFunctions(this.functions, narrowed),
      this.compile,
      this.outside,
      releaseConstants,
      positions.flatMap((position) => withInputs(this.outputs[position], inputs)),
    );
    return { stage, inputs };
  }

  /** Consumes the inputs. */
  run(inputs: readonly JaxArray[]): readonly JaxArray[] {
    try {
      // jax-js takes compiled constants of different dtypes for the same, so these aren't compiled.
      if (!this.compile || inputs.length === 0 || !this.analysis.exact) return this.runPlainly(inputs);
      this.compiled ??= jax().jit((...given: JaxArray[]) => [...this.functions.traced(given)]) as unknown as Compiled;
      return this.compiled(...inputs);
    } catch (error) {
      throw translated(error);
    }
  }

  /** Ends what jax-js keeps for it. */
  dispose(): void {
    this.compiled?.dispose();
    this.compiled = undefined;
  }

  /** Executes it as a part of something that is traced, or operation by operation. Consumes the inputs. */
  runWithin(inputs: readonly JaxArray[]): readonly JaxArray[] {
    return this.outside.preserve(() => this.functions.plain(inputs));
  }

  /** Operation by operation; then looks whether the references of the inputs add up. */
  private runPlainly(inputs: readonly JaxArray[]): readonly JaxArray[] {
    const before = new Map<JaxArray, number>();
    for (const input of inputs) before.set(input, (before.get(input) ?? input.refCount) - 1);
    const outputs = this.runWithin(inputs);
    for (const output of outputs) {
      const expected = before.get(output);
      if (expected !== undefined) before.set(output, expected + 1);
    }
    for (const [input, expected] of before) {
      // A function that doesn't use an argument leaves it where it is.
      for (let surplus = input.refCount - expected; surplus > 0; surplus--) input.dispose();
      if (input.refCount < expected) {
        throw programError("ARRAY_CONSUMED", "A function consumes one of its arrays more than once", {
          hint: "Use x.ref at each use of x but the last.",
        });
      }
    }
    return outputs;
  }

  private get analysis(): Analysis {
    if (this.found === undefined) {
      this.found = this.outside.preserve(() => {
        const closed = traceJaxpr(this.functions.traced, this.inputAvals);
        const { jaxpr, outputs } = analyzeJaxpr(closed);
        this.release(closed);
        return { jaxpr, constants: closed.consts.length, outputs, exact: compilesExactly(jaxpr) };
      });
    }
    return this.found;
  }
}

export const mapFunctions = (
  { plain, traced }: StageFunctions,
  change: (of: StageFunction) => StageFunction,
): StageFunctions => {
  const changed = change(plain);
  return { plain: changed, traced: plain === traced ? changed : change(traced) };
};

/** The same output of a stage that has only these of the inputs. */
function withInputs(output: OutputAnalysis | undefined, inputs: readonly number[]): readonly OutputAnalysis[] {
  if (output === undefined) return [];
  const among = (positions: ReadonlySet<number>): ReadonlySet<number> =>
    new Set(inputs.flatMap((position, index) => (positions.has(position) ? [index] : [])));
  const { dependsOn, differentiableBy, passedThrough } = output;
  return [
    {
      ...output,
      dependsOn: among(dependsOn),
      differentiableBy: among(differentiableBy),
      passedThrough: passedThrough === undefined ? undefined : inputs.indexOf(passedThrough),
    },
  ];
}

/** Some of the arrays, each with a reference of its own; the rest is released. */
export function take(arrays: readonly JaxArray[], positions: readonly number[]): readonly JaxArray[] {
  const taken = positions.flatMap((position) => arrays[position]?.ref ?? []);
  for (const array of arrays) array.dispose();
  return taken;
}

/** Traces a function with arrays of these kinds. */
export function traceJaxpr(of: StageFunction, avals: readonly Aval[]): ClosedJaxpr {
  const { makeJaxpr } = jax();
  const examples = avals.map(zerosOf);
  try {
    return makeJaxpr((...inputs: JaxArray[]) => [...of(inputs)])(...examples).jaxpr;
  } catch (error) {
    throw translated(error);
  } finally {
    for (const example of examples) if (isConcreteJaxArray(example)) example.dispose();
  }
}

/** Constants of a trace within another trace stand for that one's values, and need no release. */
export function releaseConstants({ consts }: ClosedJaxpr): void {
  for (const constant of consts) {
    if (isConcreteJaxArray(constant) && constant.refCount > 0) constant.dispose();
  }
}
