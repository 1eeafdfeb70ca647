/** Forward mode. */
import { avalText, isFloating, sameShape } from "../arrays/aval.js";
import { programError } from "../errors.js";
import type { Graph } from "../program/ir.js";
import { transformed } from "../program/program.js";
import type { Signature } from "../program/traced-function.js";
import { jvpGraph } from "../transform/jvp.js";
import { leafCount, type Structure } from "../tree/tree.js";
import { floatingStructure } from "./floating-structure.js";
import { auxOf, itemsOf } from "./grad.js";
import { callable, runProgramOptions } from "./program-call.js";
import { type ProgramSource, sourceOf } from "./source.js";
import { type Later, twoStep } from "./two-step.js";
import type { Both, GivenList, Inside } from "./types.js";
import type { AuxOptions } from "./vjp.js";

type WithAux<R, A extends boolean> = A extends true
  ? R extends readonly [infer V, infer X]
    ? [V, V, X]
    : never
  : [R, R];

/**
 * A function's value at `primals`, and how it changes along `tangents`, which have the same tree and shapes; a 0 there
 * stands for no change, for which nothing is asked of Tesseracts.
 *
 * @throws TesseractError NOT_DIFFERENTIABLE, SECOND_DERIVATIVE, ENDPOINT_NOT_FOUND, INVALID_ARGUMENT
 *
 * @example
 * const [y, change] = await jvp(f, [x], [np.ones(x.shape)]);
 */
export function jvp<P extends unknown[], R, const A extends boolean = false>(
  f: (...args: P) => R,
  primals: GivenList<P>,
  tangents: GivenList<P>,
  { hasAux = false as A, ...running }: AuxOptions<A> = {},
): Both<WithAux<Inside<R>, A>> {
  const inner = sourceOf(f);
  const name = `jvp(${inner.name})`;
  const source: ProgramSource = {
    name,
    build: (signature, options) => {
      const [primalStructure, tangentStructure] = itemsOf(signature.structure);
      if (primalStructure === undefined || tangentStructure === undefined) throw new Error("jvp lacks its arguments");
      const count = leafCount(primalStructure);
      const program = inner.build({ structure: primalStructure, avals: signature.avals.slice(0, count) }, options);
      const wrt = matchTangents(signature, count, name);
      const derived = jvpGraph(program.graph, wrt);
      const values = program.graph.outputs.length;
      const [valueStructure, auxStructure] = hasAux
        ? auxOf(program.outputStructure)
        : [program.outputStructure, undefined];
      const differentiated = leafCount(valueStructure);
      const all = derived.outputs;
      const chosen = [
        ...all.slice(0, differentiated),
        ...all.slice(values, values + differentiated),
        ...all.slice(differentiated, values),
      ];
      const items =
        auxStructure === undefined ? [valueStructure, valueStructure] : [valueStructure, valueStructure, auxStructure];
      return transformed(
        program,
        name,
        { ...derived, inputs: withUnused(program.graph, derived, wrt, count), outputs: chosen },
        signature.structure,
        { kind: "list", items },
      );
    },
  };
  return callable(source, runProgramOptions(running))(primals, tangents) as never;
}

/** The graph's inputs where every primal has a tangent: those that are no derivatives are there, and unused. */
function withUnused(graph: Graph, derived: Graph, wrt: readonly number[], count: number): Graph["inputs"] {
  const tangents = graph.inputs.slice(0, count).map((input, position) => {
    const index = wrt.indexOf(position);
    return (index < 0 ? undefined : derived.inputs[graph.inputs.length + index]) ?? { ...input };
  });
  return [...graph.inputs, ...tangents];
}

/** Positions of the primals whose tangents are arrays. */
function matchTangents({ avals }: Signature, count: number, name: string): readonly number[] {
  if (avals.length !== 2 * count) {
    throw programError("INVALID_ARGUMENT", `${name} was given ${count} primals, but ${avals.length - count} tangents`, {
      hint: "Tangents have the tree of the primals; 0 stands for no change.",
    });
  }
  return avals.slice(0, count).flatMap((primal, position) => {
    const tangent = avals[count + position];
    if (tangent === undefined || !isFloating(primal)) return [];
    if (!sameShape(primal.shape, tangent.shape)) {
      if (tangent.weakType) return [];
      throw programError(
        "INVALID_ARGUMENT",
        `${name}: a tangent is ${avalText(tangent)}, its primal ${avalText(primal)}`,
      );
    }
    return [position];
  });
}

/** From tangents of the arguments to tangents of the outputs. */
export interface Linearized<P extends unknown[], R> {
  (...tangents: GivenList<P>): Both<R>;
  dispose(): void;
}

/**
 * A function's value, and the linear function that it is near `primals`. The values that this one needs are kept until it is
 * disposed. What the options say of running counts for both.
 *
 * @example
 * const [y, push] = await linearize(f, [x]);
 * const change = await push(np.ones([3]));
 * push.dispose();
 */
export function linearize<P extends unknown[], R, const A extends boolean = false>(
  f: (...args: P) => R,
  primals: GivenList<P>,
  { hasAux, ...running }: AuxOptions<A> = {},
): Both<
  A extends true
    ? Inside<R> extends readonly [infer V, infer X]
      ? [V, Linearized<P, V>, X]
      : never
    : [Inside<R>, Linearized<P, Inside<R>>]
> {
  const inner = sourceOf(f);
  const name = `linearize(${inner.name})`;
  return twoStep(
    (signature, sowTag) => {
      const program = inner.build(signature, { compile: false, sowTag });
      const { graph, outputStructure } = program;
      const wrt = graph.inputs.flatMap(({ aval }, position) => (isFloating(aval) ? [position] : []));
      const derived = jvpGraph(graph, wrt);
      const [valueStructure] = hasAux ? auxOf(outputStructure) : [outputStructure];
      const tangents = derived.outputs.slice(graph.outputs.length, graph.outputs.length + leafCount(valueStructure));
      return {
        name,
        program,
        graph: { ...derived, outputs: [...graph.outputs, ...tangents] },
        outputs: graph.outputs.length,
        structure: outputStructure,
        laterInputs: floatingStructure(
          { kind: "list", items: itemsOf(program.inputStructure) },
          graph.inputs,
        ) as Structure,
        laterOutputs: valueStructure,
      };
    },
    primals as readonly unknown[],
    name,
    runProgramOptions(running),
    (value, later: Later) => {
      if (!hasAux) return [value, later];
      const [output, aux] = value as [unknown, unknown];
      return [output, later, aux];
    },
  ) as never;
}
