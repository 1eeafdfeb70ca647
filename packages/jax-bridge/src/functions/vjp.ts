/** Reverse mode with cotangents of one's own. */
import { isFloating } from "../arrays/aval.js";
import { vjpGraph } from "../transform/vjp.js";
import { leafCount } from "../tree/tree.js";
import { floatingStructure } from "./floating-structure.js";
import { auxOf, itemsOf } from "./grad.js";
import { type RunProgramOptions, runProgramOptions } from "./program-call.js";
import { sourceOf } from "./source.js";
import { type Later, twoStep } from "./two-step.js";
import type { Both, Given, GivenList, Inside } from "./types.js";

export interface AuxOptions<A extends boolean> extends RunProgramOptions {
  /** Whether the function gives `[value, aux]`, of which only the value is differentiated. */
  readonly hasAux?: A;
}

/** From cotangents of the outputs to cotangents of the arguments. */
export interface Pullback<P extends unknown[], R> {
  (cotangents: Given<R>): Both<P>;
  dispose(): void;
}

/**
 * A function's value, and the function that pulls cotangents of it back to its arguments. The values that this one needs are
 * kept until it is disposed. What the options say of running counts for both.
 *
 * @throws TesseractError NOT_DIFFERENTIABLE, SECOND_DERIVATIVE, ENDPOINT_NOT_FOUND
 *
 * @example
 * const [y, pull] = await vjp(f, [x]);
 * const [cotangent] = await pull(np.ones(y.shape));
 * pull.dispose();
 */
export function vjp<P extends unknown[], R, const A extends boolean = false>(
  f: (...args: P) => R,
  primals: GivenList<P>,
  { hasAux, ...running }: AuxOptions<A> = {},
): Both<
  A extends true
    ? Inside<R> extends readonly [infer V, infer X]
      ? [V, Pullback<P, V>, X]
      : never
    : [Inside<R>, Pullback<P, Inside<R>>]
> {
  const inner = sourceOf(f);
  const name = `vjp(${inner.name})`;
  return twoStep(
    (signature, sowTag) => {
      const program = inner.build(signature, { compile: false, sowTag });
      const { graph, outputStructure } = program;
      const [valueStructure] = hasAux ? auxOf(outputStructure) : [outputStructure];
      const of = floatingUpTo(graph.outputs, leafCount(valueStructure));
      const wrt = floatingUpTo(graph.inputs, graph.inputs.length);
      return {
        name,
        program,
        graph: vjpGraph(graph, wrt, of),
        outputs: graph.outputs.length,
        structure: outputStructure,
        laterInputs: { kind: "list", items: [floatingStructure(valueStructure, graph.outputs)] },
        laterOutputs: floatingStructure({ kind: "list", items: itemsOf(program.inputStructure) }, graph.inputs),
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

const floatingUpTo = (
  values: readonly { readonly aval: Parameters<typeof isFloating>[0] }[],
  count: number,
): number[] => values.slice(0, count).flatMap(({ aval }, position) => (isFloating(aval) ? [position] : []));
