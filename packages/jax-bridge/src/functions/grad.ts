/** Gradients of scalar functions. */
import { avalText, isFloating } from "../arrays/aval.js";
import { programError } from "../errors.js";
import { jax } from "../jax.js";
import { Value } from "../program/ir.js";
import { type Program, transformed } from "../program/program.js";
import type { Signature } from "../program/traced-function.js";
import { Extension } from "../transform/extension.js";
import { vjpGraph } from "../transform/vjp.js";
import { leafCount, type Structure } from "../tree/tree.js";
import { argumentRanges, callable, type RunProgramOptions, runProgramOptions } from "./program-call.js";
import { type ProgramSource, sourceOf } from "./source.js";
import type { ArgumentsOf, ProgramCall, ProgramFunction, ResultOf } from "./types.js";

export interface GradOptions<I extends number | readonly number[] | undefined, A extends boolean>
  extends RunProgramOptions {
  /** The arguments to differentiate with respect to: one, or a list. The first if left out. */
  readonly argnums?: I;
  /** Whether the function gives `[value, aux]`, of which only the value is differentiated. */
  readonly hasAux?: A;
}

/** The gradients' tree. */
export type GradientOf<F extends ProgramFunction, I> = I extends number
  ? Parameters<F>[I]
  : I extends readonly number[]
    ? { -readonly [K in keyof I]: I[K] extends number ? Parameters<F>[I[K]] : never }
    : Parameters<F>[0];

type AuxOf<R> = R extends readonly [unknown, infer X] ? X : never;

/**
 * The gradient of a scalar function. Only the derivatives that it needs are asked of Tesseracts, and not the values.
 *
 * @throws TesseractError NOT_DIFFERENTIABLE, SECOND_DERIVATIVE, ENDPOINT_NOT_FOUND, INVALID_ARGUMENT
 *
 * @example
 * const gradient = await grad(loss)(guess);
 */
export function grad<
  F extends ProgramFunction,
  const I extends number | readonly number[] | undefined = undefined,
  const A extends boolean = false,
>(
  f: F,
  options: GradOptions<I, A> = {},
): ProgramCall<ArgumentsOf<F>, A extends true ? [GradientOf<F, I>, AuxOf<ResultOf<F>>] : GradientOf<F, I>> {
  return gradFunction(f, options, false) as never;
}

/**
 * A scalar function's value and its gradient.
 *
 * @throws TesseractError NOT_DIFFERENTIABLE, SECOND_DERIVATIVE, ENDPOINT_NOT_FOUND, INVALID_ARGUMENT
 *
 * @example
 * const [value, gradient] = await valueAndGrad(loss)(guess);
 */
export function valueAndGrad<
  F extends ProgramFunction,
  const I extends number | readonly number[] | undefined = undefined,
  const A extends boolean = false,
>(f: F, options: GradOptions<I, A> = {}): ProgramCall<ArgumentsOf<F>, [ResultOf<F>, GradientOf<F, I>]> {
  return gradFunction(f, options, true) as never;
}

function gradFunction(
  f: ProgramFunction,
  { argnums, hasAux = false, ...running }: GradOptions<number | readonly number[] | undefined, boolean>,
  withValue: boolean,
): unknown {
  const inner = sourceOf(f);
  const name = `${withValue ? "valueAndGrad" : "grad"}(${inner.name})`;
  const source: ProgramSource = {
    name,
    build: (signature, options) =>
      gradProgram(inner.build(signature, options), name, signature, argnums ?? 0, hasAux, withValue),
  };
  return callable(source, runProgramOptions(running));
}

function gradProgram(
  program: Program,
  name: string,
  signature: Signature,
  argnums: number | readonly number[],
  hasAux: boolean,
  withValue: boolean,
): Program {
  const { graph, inputStructure, outputStructure } = program;
  const [valueStructure, auxStructure] = hasAux ? auxOf(outputStructure) : [outputStructure, undefined];
  const [value] = graph.outputs;
  if (valueStructure.kind !== "leaf" || value === undefined) {
    throw programError("INVALID_ARGUMENT", `${name} needs a function that gives one array, a scalar`, {
      hint: "Further outputs go beside it: return [value, aux] with hasAux: true.",
    });
  }
  if (value.aval.shape.length > 0 || !isFloating(value.aval)) {
    throw programError("INVALID_ARGUMENT", `${name} needs a scalar of floating point, not ${avalText(value.aval)}`, {
      hint: "Reduce it with np.sum or np.mean; for the derivatives of all its elements use jacrev or vjp.",
    });
  }
  const items = itemsOf(inputStructure);
  const chosen = typeof argnums === "number" ? [argnums] : argnums;
  const ranges = argumentRanges(signature, items.map(leafCount), chosen);
  const wrt = checkFloating(ranges.flat(), signature, name);
  const unique = [...new Set(wrt)];
  const derived = vjpGraph(graph, unique, [0]);
  // The seed is 1.
  const seed = derived.inputs.at(-1) ?? new Value(value.aval);
  const extension = new Extension({ ...derived, nodes: [] });
  const one = extension.computeOne("seed", () => [jax().numpy.ones([], { dtype: value.aval.dtype as never })], []);
  const nodes = [...extension.nodes, ...derived.nodes].map((node) => ({
    ...node,
    inputs: node.inputs.map((input) => (input === seed ? one : input)),
  }));
  const cotangents = derived.outputs.slice(graph.outputs.length).map((output) => (output === seed ? one : output));
  const gradients = wrt.flatMap((position) => cotangents[unique.indexOf(position)] ?? []);
  const gradientStructure = structureFor(items, argnums, chosen);
  const outputs = withValue ? [...graph.outputs, ...gradients] : [...gradients, ...graph.outputs.slice(1)];
  const structure = ((): Structure => {
    if (withValue) return { kind: "list", items: [outputStructure, gradientStructure] };
    return auxStructure === undefined ? gradientStructure : { kind: "list", items: [gradientStructure, auxStructure] };
  })();
  return transformed(program, name, { ...derived, inputs: graph.inputs, nodes, outputs }, inputStructure, structure);
}

export const itemsOf = (structure: Structure): readonly Structure[] =>
  structure.kind === "list" ? structure.items : [structure];

/** The tree of what belongs to chosen arguments. */
export function structureFor(
  items: readonly Structure[],
  argnums: number | readonly number[],
  chosen: readonly number[],
): Structure {
  const picked = chosen.flatMap((argnum) => items[argnum < 0 ? items.length + argnum : argnum] ?? []);
  const [only] = picked;
  return typeof argnums === "number" && only !== undefined ? only : { kind: "list", items: picked };
}

export function auxOf(structure: Structure): readonly [Structure, Structure] {
  const [value, aux] = structure.kind === "list" ? structure.items : [];
  if (structure.kind !== "list" || structure.items.length !== 2 || value === undefined || aux === undefined) {
    throw programError("INVALID_ARGUMENT", "With hasAux a function gives [value, aux]");
  }
  return [value, aux];
}

export function checkFloating(positions: readonly number[], { avals }: Signature, name: string): readonly number[] {
  for (const position of positions) {
    const given = avals[position];
    if (given !== undefined && !isFloating(given)) {
      throw programError("INVALID_ARGUMENT", `${name} differentiates by an array of ${avalText(given)}`, {
        hint: "Derivatives are by arrays of floating point. Choose other arguments with argnums.",
      });
    }
  }
  return positions;
}
