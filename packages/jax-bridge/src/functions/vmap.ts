/** Functions of one element as functions of a batch. */
import { avalText } from "../arrays/aval.js";
import { programError } from "../errors.js";
import { transformed } from "../program/program.js";
import type { Signature } from "../program/traced-function.js";
import { vmapGraph } from "../transform/vmap.js";
import { flatten, leafCount, type Structure, structureKey } from "../tree/tree.js";
import { itemsOf } from "./grad.js";
import { callable, type RunProgramOptions, runProgramOptions } from "./program-call.js";
import { type ProgramSource, sourceOf } from "./source.js";
import type { ArgumentsOf, ProgramCall, ProgramFunction, ResultOf } from "./types.js";

/** For a tree of arrays the dimension of the batch: one for all of it, or a tree of them; null for none. */
export type Axes = number | null | readonly Axes[] | { readonly [key: string]: Axes };

/**
 * Applies a function to each element of a batch. jax-js computes with the whole batch at once; what a Tesseract is asked for
 * is the choice of its call, `vmapMethod`.
 *
 * @param inAxes the dimension of the batch: one for all arguments, or a list with one for each; null for the same in all
 *   elements. In the results it is the first.
 * @throws TesseractError VMAP_METHOD_MISSING, INVALID_ARGUMENT
 *
 * @example
 * const losses = await vmap(loss, [0, null])(sources, measured);
 */
export function vmap<F extends ProgramFunction>(
  f: F,
  inAxes: number | readonly Axes[] = 0,
  options: RunProgramOptions = {},
): ProgramCall<ArgumentsOf<F>, ResultOf<F>> {
  const inner = sourceOf(f);
  const name = `vmap(${inner.name})`;
  const source: ProgramSource = {
    name,
    build: (signature, options) => {
      const axes = flatAxes(signature, inAxes, name);
      const size = batchSize(signature, axes, name);
      const avals = signature.avals.map((each, position) => {
        const axis = axes[position] ?? null;
        return axis === null ? each : { ...each, shape: each.shape.filter((_, index) => index !== axis) };
      });
      const program = inner.build({ structure: signature.structure, avals }, options);
      return transformed(
        program,
        name,
        vmapGraph(program.graph, axes, size),
        signature.structure,
        program.outputStructure,
      );
    },
  };
  return callable(source, runProgramOptions(options)) as ProgramCall<ArgumentsOf<F>, ResultOf<F>>;
}

function flatAxes(signature: Signature, inAxes: number | readonly Axes[], name: string): readonly (number | null)[] {
  const items = itemsOf(signature.structure);
  const perArgument = typeof inAxes === "number" ? items.map(() => inAxes) : inAxes;
  if (perArgument.length !== items.length) {
    throw programError(
      "INVALID_ARGUMENT",
      `${name} has inAxes for ${perArgument.length} arguments, but was given ${items.length}`,
    );
  }
  const axes = items.flatMap((item, index) => spread(perArgument[index] ?? null, item, name));
  return axes.map((axis, position) => {
    const rank = signature.avals[position]?.shape.length ?? 0;
    if (axis === null) return null;
    const counted = axis < 0 ? rank + axis : axis;
    if (Number.isInteger(axis) && counted >= 0 && counted < rank) return counted;
    const given = signature.avals[position];
    throw programError(
      "INVALID_ARGUMENT",
      `${name} has the axis ${axis} for ${given === undefined ? "nothing" : avalText(given)}`,
    );
  });
}

function spread(axes: Axes, structure: Structure, name: string): readonly (number | null)[] {
  if (axes === null || typeof axes === "number") return Array.from({ length: leafCount(structure) }, () => axes);
  const isAxis = (value: unknown): value is number | null => value === null || typeof value === "number";
  const flat = flatten(axes, isAxis);
  if (structureKey(flat.structure) !== structureKey(structure)) {
    throw programError("INVALID_ARGUMENT", `${name} has a tree of inAxes that isn't the argument's`);
  }
  return flat.leaves;
}

function batchSize({ avals }: Signature, axes: readonly (number | null)[], name: string): number {
  const sizes = new Set(axes.flatMap((axis, position) => (axis === null ? [] : (avals[position]?.shape[axis] ?? []))));
  const [size] = sizes;
  if (size === undefined) throw programError("INVALID_ARGUMENT", `${name} has no argument with a batch`);
  if (sizes.size > 1) {
    throw programError("INVALID_ARGUMENT", `${name} has batches of different sizes: ${[...sizes].join(", ")}`);
  }
  if (size === 0) throw programError("INVALID_ARGUMENT", `${name} has an empty batch`);
  return size;
}
