/** Looking at values in the middle of a program. */
import { aval, avalOf } from "../arrays/aval.js";
import { isJaxValue } from "../arrays/kinds.js";
import { isOpaque } from "../arrays/opaque.js";
import type { RuntimeArray } from "../arrays/runtime-array.js";
import { programError, translated } from "../errors.js";
import { loadJax } from "../jax.js";
import type { Sow } from "../program/ir.js";
import type { Program } from "../program/program.js";
import { runGraph } from "../program/run.js";
import { currentContext, isTraced } from "../program/trace-context.js";
import type { CallInput } from "../tesseract/call-spec.js";
import { flatten, unflatten } from "../tree/tree.js";
import { flattenArguments, runtimeArrays, signatureOf } from "./arguments.js";
import { guardedPromise } from "./guarded-promise.js";
import { buildSettled, delivered, placementFor, type RunProgramOptions, runOptions } from "./program-call.js";
import { sourceOf } from "./source.js";
import type { ArgumentsOf, ProgramFunction, ResultOf } from "./types.js";

export interface SowOptions {
  /** Groups what is sown; `saveIntermediates` keeps one group. `intermediates` if left out. */
  readonly tag?: string | undefined;
}

const defaultTag = "intermediates";

/**
 * Gives a tree of arrays back as it is, and marks it for {@link saveIntermediates}. Without that it does nothing.
 *
 * @param name unique within the function
 */
export function sow<T>(value: T, name: string, { tag = defaultTag }: SowOptions = {}): T {
  const context = currentContext();
  if (context === undefined || context.options.sowTag !== tag) return value;
  const isArray = (leaf: unknown): leaf is CallInput => isTraced(leaf);
  const { leaves, structure } = flatten(value, isArray);
  const outputAvals = leaves.map((leaf) => {
    if (isJaxValue(leaf) && !isOpaque(leaf)) return avalOf(leaf);
    const { shape, dtype } = leaf as { readonly shape: readonly number[]; readonly dtype: "int64" };
    return aval(shape, dtype);
  });
  return unflatten(
    structure,
    context.perform({ kind: "sow", sow: { name, mode: "primal", structure }, outputAvals }, leaves),
  ) as T;
}

export interface SaveOptions extends SowOptions, RunProgramOptions {}

/** What was sown under a name: the value, and with forward mode its tangent, with reverse mode its cotangent. */
export interface Intermediate {
  readonly primal?: unknown;
  readonly tangent?: unknown;
  readonly cotangent?: unknown;
}

/**
 * Runs a function, or a transformation of one, and gives what was sown in it beside its result. It comes outermost:
 * `saveIntermediates(jit(grad(loss)))`.
 *
 * @throws TesseractError INVALID_ARGUMENT if a name is sown twice
 *
 * @example
 * const [gradient, { heat }] = await saveIntermediates(grad(loss))(guess);
 * heat.cotangent;
 */
export function saveIntermediates<F extends ProgramFunction>(
  f: F,
  { tag = defaultTag, ...running }: SaveOptions = {},
): (...args: ArgumentsOf<F>) => Promise<[ResultOf<F>, Record<string, Intermediate>]> {
  const source = sourceOf(f);
  const name = `saveIntermediates(${source.name})`;
  return (...args) => {
    if (currentContext() !== undefined) {
      throw programError("INVALID_ARGUMENT", `${name} is called within a program`, {
        hint: "It comes outermost: saveIntermediates(jit(grad(f))).",
      });
    }
    return guardedPromise(run(args), name) as Promise<[ResultOf<F>, Record<string, Intermediate>]>;
  };

  async function run(args: readonly unknown[]): Promise<unknown> {
    await loadJax();
    const flat = flattenArguments(args);
    const arrays = runtimeArrays(flat.leaves);
    let program: Program | undefined;
    try {
      program = await buildSettled(source, signatureOf(flat), { compile: false, sowTag: tag }, running);
      checkNames(program.graph.sown.map(({ sow: each }) => each));
      const placement = placementFor(running, arrays);
      const { outputs, sown } = await runGraph(program.graph, arrays, { ...runOptions(running), placement });
      const deliverAll = (each: readonly RuntimeArray[]): Promise<unknown[]> =>
        Promise.all(each.map((array) => delivered(array, placement)));
      const result = unflatten(program.outputStructure, await deliverAll(outputs));
      const intermediates: Record<string, Record<string, unknown>> = {};
      for (const [index, { sow: each }] of program.graph.sown.entries()) {
        const tree = unflatten(each.structure, await deliverAll(sown[index] ?? []));
        intermediates[each.name] = { ...intermediates[each.name], [each.mode]: tree };
      }
      return [result, intermediates];
    } catch (error) {
      await Promise.all(arrays.map((array) => array.dispose()));
      throw translated(error);
    } finally {
      program?.dispose();
    }
  }
}

function checkNames(sown: readonly Sow[]): void {
  const seen = new Set<string>();
  for (const { name, mode } of sown) {
    if (seen.has(`${mode} ${name}`)) {
      throw programError("INVALID_ARGUMENT", `The name "${name}" is sown twice`, {
        hint: "Each name is unique within a program.",
      });
    }
    seen.add(`${mode} ${name}`);
  }
}
