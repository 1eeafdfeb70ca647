/** Calls a function of jax-js with arrays of its own, and frees them. */
import { type Array as JaxArray, makeJaxpr } from "@jax-js/jax";
import { type HostArray, isHostArray } from "@tesseract-ts/core";
import { builtinAdapters } from "@tesseract-ts/core/adapters";
import type { Tree } from "../derive/derived.js";
import { readForeign } from "../runner/foreign.js";
import { free, isJaxArray, toJax, zeros } from "./arrays.js";

/** A function of jax-js with its types gone. */
export type Compute = (inputs: unknown) => unknown;

/** A tree with other values for some of its nodes; objects and lists are copied. */
export function mapTree(tree: unknown, path: string, replace: (value: object, path: string) => unknown): unknown {
  if (typeof tree !== "object" || tree === null) return tree;
  const replaced = replace(tree, path);
  if (replaced !== undefined) return replaced;
  if (Array.isArray(tree)) return tree.map((item: unknown, index) => mapTree(item, `${path}.[${index}]`, replace));
  return Object.fromEntries(
    Object.entries(tree).map(([key, member]) => [key, mapTree(member, path === "" ? key : `${path}.${key}`, replace)]),
  );
}

/** Arrays of jax-js for those of a tree. They are freed with {@link Borrowed.free}, whatever the function did with them. */
export class Borrowed {
  private readonly arrays: JaxArray[] = [];

  take(array: HostArray, path: string): JaxArray {
    return this.own(toJax(array, path));
  }

  own(array: JaxArray): JaxArray {
    this.arrays.push(array);
    return array;
  }

  free(): void {
    for (const array of this.arrays) free(array);
  }
}

export async function applied(compute: Compute, inputs: Tree): Promise<unknown> {
  const borrowed = new Borrowed();
  const results: JaxArray[] = [];
  try {
    const outputs = compute(
      mapTree(inputs, "", (value, path) => (isHostArray(value) ? borrowed.take(value, path) : undefined)),
    );
    mapTree(outputs, "", (value) => {
      if (!isJaxArray(value)) return undefined;
      results.push(value);
      return value;
    });
    return await readForeign(outputs, builtinAdapters);
  } finally {
    for (const array of new Set(results)) free(array);
    borrowed.free();
  }
}

/** The shapes and dtypes of the outputs: the function is traced, and computes nothing. */
export function traced(compute: Compute, inputs: unknown): unknown {
  const paths: string[] = [];
  const arrays: JaxArray[] = [];
  mapTree(inputs, "", (value, path) => {
    if (!isAbstract(value)) return undefined;
    paths.push(path);
    arrays.push(zeros(value, path));
    return value;
  });
  let outputs: unknown;
  const trace = makeJaxpr((...tracers: JaxArray[]) => {
    let next = 0;
    const leaves: JaxArray[] = [];
    const result = compute(mapTree(inputs, "", (value) => (isAbstract(value) ? tracers[next++] : undefined)));
    outputs = mapTree(result, "", (value) => {
      if (!isJaxArray(value)) return isHostArray(value) ? { shape: value.shape, dtype: value.dtype } : undefined;
      leaves.push(value);
      return { shape: [...value.shape], dtype: String(value.dtype) };
    });
    return leaves;
  });
  const { jaxpr } = trace(...arrays);
  jaxpr.dispose();
  for (const array of arrays) free(array);
  return outputs;
}

const isAbstract = (value: object): value is { readonly shape: readonly number[]; readonly dtype: string } =>
  "shape" in value && "dtype" in value && Array.isArray(value.shape) && typeof value.dtype === "string";
