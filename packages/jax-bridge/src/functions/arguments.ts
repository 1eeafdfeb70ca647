/** The arguments of a program: which arrays, in what tree. */
import { aval, avalOf } from "../arrays/aval.js";
import { asHostArray } from "../arrays/convert.js";
import { cudaArrayOf, isConcreteJaxArray, isHost, isJaxValue } from "../arrays/kinds.js";
import { isOpaque } from "../arrays/opaque.js";
import { RuntimeArray } from "../arrays/runtime-array.js";
import { programError } from "../errors.js";
import { isTraced } from "../program/trace-context.js";
import type { Signature } from "../program/traced-function.js";
import { flatten, type Structure } from "../tree/tree.js";

type Leaf = object | number | boolean;

const isLeaf = (value: unknown): value is Leaf =>
  typeof value === "number" ||
  typeof value === "boolean" ||
  isTraced(value) ||
  isHost(value) ||
  cudaArrayOf(value) !== undefined;

export interface FlatArguments {
  readonly leaves: readonly Leaf[];
  readonly structure: Structure;
}

/** @param staticArgnums arguments that are taken as they are, whatever they hold */
export function flattenArguments(args: readonly unknown[], staticArgnums: readonly number[] = []): FlatArguments {
  const leaves: Leaf[] = [];
  const items = args.map((arg, index): Structure => {
    if (staticArgnums.includes(index)) return { kind: "static", value: arg };
    const flat = flatten(arg, isLeaf);
    leaves.push(...flat.leaves);
    return flat.structure;
  });
  return { leaves, structure: { kind: "list", items } };
}

/** Takes over the jax-js arrays among the leaves. */
export function runtimeArrays(leaves: readonly Leaf[]): readonly RuntimeArray[] {
  for (const leaf of leaves) {
    if (isConcreteJaxArray(leaf) && leaf.refCount <= 0) {
      throw programError("ARRAY_CONSUMED", "An argument is a jax-js array that was consumed before", {
        hint: "What takes a jax-js array consumes it, programs too: pass x.ref where x is needed afterwards.",
      });
    }
  }
  return leaves.map(runtimeArray);
}

function runtimeArray(leaf: Leaf): RuntimeArray {
  if (typeof leaf === "number" || typeof leaf === "boolean") return RuntimeArray.ofNumber(leaf);
  if (isJaxValue(leaf)) return RuntimeArray.ofJax(leaf);
  if (isHost(leaf)) return RuntimeArray.ofHost(asHostArray(leaf));
  const cuda = cudaArrayOf(leaf);
  if (cuda === undefined) throw programError("INVALID_ARRAY", "An argument is no array");
  return RuntimeArray.ofCuda(cuda, false);
}

export function signatureOf({ leaves, structure }: FlatArguments): Signature {
  return {
    structure,
    avals: leaves.map((leaf) => {
      if (typeof leaf === "number") return aval([], "float32", true);
      if (typeof leaf === "boolean") return aval([], "bool");
      if (isOpaque(leaf)) return aval([...leaf.shape], leaf.dtype as "int64");
      if (isJaxValue(leaf)) return avalOf(leaf);
      return runtimeArray(leaf).aval;
    }),
  };
}
