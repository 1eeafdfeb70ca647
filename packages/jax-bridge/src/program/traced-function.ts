/** A user's function as a pure function of jax-js: from arguments and results of calls to inputs of calls and outputs. */
import { type Aval, isJaxDType, zerosOf } from "../arrays/aval.js";
import { isJaxValue } from "../arrays/kinds.js";
import { isOpaque, opaqueArray } from "../arrays/opaque.js";
import { awaitInside, impure, translated } from "../errors.js";
import { type JaxArray, jax } from "../jax.js";
import { type CallInput, isCallInput } from "../tesseract/call-spec.js";
import { flatten, type Structure, structureKey, unflatten } from "../tree/tree.js";
import { OutsideArrays } from "./outside.js";
import { releaseTaken, watchReferences } from "./references.js";
import { Stage, type StageFunctions, traceJaxpr } from "./stage.js";
import { currentBuild } from "./suspension.js";
import { type Effect, effectAvals, type Recorded, TraceContext, type TraceOptions, within } from "./trace-context.js";
import { guardValues } from "./value-guard.js";

export type UserFunction = (...args: never[]) => unknown;

export interface Signature {
  /** Of the list of arguments. */
  readonly structure: Structure;
  readonly avals: readonly Aval[];
}

export const signatureKey = ({ structure, avals }: Signature): string =>
  `${structureKey(structure)} ${avals.map((each) => `${each.dtype}[${each.shape.join(",")}]${each.weakType}`).join(" ")}`;

/** Where an array that goes into a call, or is an output, comes from. */
export type Origin =
  /** A position among the traced function's outputs. */
  | { readonly kind: "computed"; readonly position: number }
  /** An argument or result of a dtype that jax-js lacks: a position among the sources. */
  | { readonly kind: "opaque"; readonly source: number }
  /** An array from outside jax-js. */
  | { readonly kind: "constant"; readonly array: object };

export interface Trace {
  /** The arguments' avals, then those of the results of each effect. */
  readonly sources: readonly Aval[];
  /** Positions of the sources that jax-js can hold: the inputs of `stage`. */
  readonly jaxSources: readonly number[];
  readonly effects: readonly TracedEffect[];
  readonly outputs: readonly Origin[];
  readonly outputStructure: Structure;
  /** Everything that the function computes with jax-js, from the sources to the inputs of its effects and its outputs. */
  readonly stage: Stage;
  /** Ends what is kept for `stage`. */
  dispose(): void;
}

export interface TracedEffect {
  readonly effect: Effect;
  readonly inputs: readonly Origin[];
  /** The position of its first result among the sources. */
  readonly firstResult: number;
}

interface Execution {
  readonly arrays: readonly JaxArray[];
  readonly recorded: readonly Recorded[];
  readonly effects: readonly (readonly Origin[])[];
  readonly outputs: readonly Origin[];
  readonly structure: Structure;
}

/**
 * Finds all calls of a function, then describes it with the results of the calls as inputs.
 *
 * @param compile whether jax-js keeps the trace, so that the function itself is executed once only after its calls are
 *   known
 * @throws Suspension
 */
export function traceFunction(of: UserFunction, signature: Signature, options: TraceOptions, compile: boolean): Trace {
  const outside = new OutsideArrays();
  const effects = findEffects(of, signature, options, outside);
  const sources = [...signature.avals, ...effects.flatMap(({ effect }) => effectAvals(effect))];
  const jaxSources = sources.flatMap((each, index) => (isJaxDType(each.dtype) ? [index] : []));
  const firstResults: number[] = [];
  let next = signature.avals.length;
  for (const { effect } of effects) {
    firstResults.push(next);
    next += effectAvals(effect).length;
  }
  const keys = effects.map(({ key }) => key);
  let layout: Omit<Execution, "arrays"> | undefined;
  const plain = (inputs: readonly JaxArray[]): readonly JaxArray[] => {
    const byPosition = sourcesOf(sources, jaxSources, inputs);
    const context = new TraceContext(options, keys, (position, effect) => {
      const first = firstResults[position];
      return first === undefined ? undefined : byPosition.slice(first, first + effectAvals(effect).length);
    });
    const execution = execute(of, signature, byPosition, context);
    if (execution.recorded.length !== keys.length)
      throw impure(`it made ${execution.recorded.length} calls, not ${keys.length},`);
    if (layout !== undefined && !sameLayout(layout, execution)) throw impure("it computed something else");
    layout = execution;
    return execution.arrays;
  };
  const jitted = compile ? jax().jit((...inputs: JaxArray[]) => [...plain(inputs)]) : undefined;
  const traced: StageFunctions["traced"] =
    jitted === undefined ? plain : (inputs) => jitted(...inputs) as unknown as readonly JaxArray[];
  const jaxAvals = jaxSources.flatMap((position) => sources[position] ?? []);
  const stage = new Stage(of.name || "f", jaxAvals, { plain, traced }, compile, outside, (closed) =>
    outside.settle(closed, compile),
  );
  outside.begin();
  // Executes the function as a whole, and with `compile` for the last time.
  const { length } = stage.outputs;
  if (layout === undefined) throw new Error(`A function with ${length} outputs hasn't been executed`);
  const { effects: inputs, outputs, structure } = layout as Omit<Execution, "arrays">;
  return {
    sources,
    jaxSources,
    effects: effects.map(({ effect }, index) => ({
      effect,
      inputs: inputs[index] ?? [],
      firstResult: firstResults[index] ?? 0,
    })),
    outputs,
    outputStructure: structure,
    stage,
    dispose: () => {
      jitted?.dispose();
      outside.release();
    },
  };
}

/** Executes a function with what stands for its arguments and results, to find its calls. */
function findEffects(
  of: UserFunction,
  signature: Signature,
  options: TraceOptions,
  outside: OutsideArrays,
): readonly Recorded[] {
  const jaxArguments = signature.avals.flatMap((each, index) => (isJaxDType(each.dtype) ? [index] : []));
  const heldBefore = [...currentBuild().held];
  return watchReferences((taken) => {
    let found: readonly Recorded[] = [];
    let interruption: unknown;
    const closed = traceJaxpr(
      (inputs) => {
        const args = sourcesOf(signature.avals, jaxArguments, inputs);
        const context = new TraceContext(options, [], (_, effect) =>
          effectAvals(effect).map((each, index) =>
            isJaxDType(each.dtype) ? zerosOf(each) : opaqueArray(each, resultName(effect, index)),
          ),
        );
        try {
          return execute(of, signature, args, context).arrays;
        } catch (error) {
          interruption = context.interruption ?? error;
          return computedOf(context.recorded);
        } finally {
          found = context.recorded;
        }
      },
      jaxArguments.flatMap((position) => signature.avals[position] ?? []),
    );
    outside.holdUntilTraced(closed);
    if (interruption === undefined) return found;
    outside.interrupt();
    releaseTaken(taken, { before: heldBefore, after: currentBuild().held });
    throw translated(interruption);
  });
}

function resultName(effect: Effect, index: number): string {
  return effect.kind === "call"
    ? `The output ${effect.operation.spec.outputSlots[index]?.path ?? index} of ${effect.operation.spec.title}`
    : "A value";
}

/** The sources as the function sees them. */
function sourcesOf(
  sources: readonly Aval[],
  jaxSources: readonly number[],
  inputs: readonly JaxArray[],
): readonly unknown[] {
  const byPosition = new Map(jaxSources.map((position, index) => [position, inputs[index]]));
  return sources.map((each, position) => byPosition.get(position) ?? opaqueArray(each, "An array"));
}

/** Executes the function once. */
function execute(
  of: UserFunction,
  signature: Signature,
  sources: readonly unknown[],
  context: TraceContext,
): Execution {
  const args = unflatten(signature.structure, sources.slice(0, signature.avals.length)) as never[];
  const result: unknown = within(context, () => guardValues(sources, () => of(...args)));
  if (isThenable(result)) {
    // It goes on after this program, in vain.
    Promise.resolve(result).catch(() => undefined);
    throw context.interrupt(awaitInside());
  }
  if (context.interruption !== undefined) throw context.interruption;
  const { leaves, structure } = flatten(result, isCallInput);
  const arrays: JaxArray[] = [];
  const originOf = (input: CallInput): Origin => {
    if (isOpaque(input)) return { kind: "opaque", source: sources.indexOf(input) };
    if (!isJaxValue(input)) return { kind: "constant", array: input };
    arrays.push(input);
    return { kind: "computed", position: arrays.length - 1 };
  };
  const effects = context.recorded.map(({ inputs }) => inputs.map(originOf));
  const outputs = leaves.map(originOf);
  return { arrays, recorded: context.recorded, effects, outputs, structure };
}

const computedOf = (recorded: readonly Recorded[]): readonly JaxArray[] =>
  recorded.flatMap(({ inputs }) => inputs.filter((input): input is JaxArray => isJaxValue(input) && !isOpaque(input)));

const isThenable = (value: unknown): boolean =>
  typeof value === "object" &&
  value !== null &&
  !isOpaque(value) &&
  typeof (value as { then?: unknown }).then === "function";

const originKey = (origin: Origin): string =>
  origin.kind === "computed" ? `${origin.position}` : origin.kind === "opaque" ? `o${origin.source}` : "c";

function sameLayout(a: Omit<Execution, "arrays">, b: Omit<Execution, "arrays">): boolean {
  const key = ({ effects, outputs, structure }: Omit<Execution, "arrays">): string =>
    `${effects.map((inputs) => inputs.map(originKey).join(",")).join(";")}|${outputs.map(originKey).join(",")}|${structureKey(structure)}`;
  return key(a) === key(b);
}
