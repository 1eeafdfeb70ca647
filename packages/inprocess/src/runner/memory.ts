/** Whose memory arrays are in: the caller's inputs stay as they are, and results are the caller's own. */
import { bytesOf, type HostArray, isHostArray, TesseractError } from "@tesseract-ts/core";
import { copyOf } from "../schema/from-zod.js";

/** Calls `visit` with each array in the host's memory, and its path. */
function visitHostArrays(tree: unknown, path: string, visit: (array: HostArray, path: string) => void): void {
  if (typeof tree !== "object" || tree === null || ArrayBuffer.isView(tree)) return;
  if (Array.isArray(tree)) {
    // A list of numbers, perhaps a long one, has no arrays.
    if (typeof tree[0] === "number") return;
    tree.forEach((item: unknown, index) => {
      if (typeof item === "object") visitHostArrays(item, `${path}.[${index}]`, visit);
    });
    return;
  }
  if (isHostArray(tree)) {
    visit(tree, path);
    return;
  }
  if ("cudaArrayInterface" in tree) return;
  for (const [key, member] of Object.entries(tree)) {
    if (typeof member === "object") visitHostArrays(member, path === "" ? key : `${path}.${key}`, visit);
  }
}

/** The memory that the arrays of a tree are in. */
export function buffersOf(tree: unknown): Set<ArrayBufferLike> {
  const buffers = new Set<ArrayBufferLike>();
  visitHostArrays(tree, "", ({ data }) => buffers.add(data.buffer));
  return buffers;
}

/**
 * The results, with arrays in memory of their own: one that shares memory with an input, or with another result, is copied.
 * Otherwise a later change to one would change the other.
 */
export function ownResults<T>(results: T, inputs: ReadonlySet<ArrayBufferLike>): T {
  const taken = new Set(inputs);
  const own = (tree: unknown): unknown => {
    if (typeof tree !== "object" || tree === null) return tree;
    if (isHostArray(tree)) {
      const { buffer } = tree.data;
      if (taken.has(buffer)) return copyOf(tree);
      taken.add(buffer);
      return tree;
    }
    if (Array.isArray(tree)) return typeof tree[0] === "number" ? tree : tree.map(own);
    if ("cudaArrayInterface" in tree) return tree;
    const record = tree as Record<string, unknown>;
    for (const key of Object.keys(record)) {
      const member = record[key];
      // The record is fresh, made by the validation, and its keys are its own.
      if (typeof member === "object" && member !== null) record[key] = own(member);
    }
    return record;
  };
  return own(results) as T;
}

/** Copies of the arrays of a call, to find what an endpoint changed in place. */
export class Snapshot {
  private readonly arrays: { readonly array: HostArray; readonly path: string; readonly before: Uint8Array }[] = [];

  constructor(inputs: unknown) {
    visitHostArrays(inputs, "", (array, path) => this.arrays.push({ array, path, before: bytesOf(array).slice() }));
  }

  /**
   * Puts changed arrays back.
   *
   * @throws TesseractError INPUT_CHANGED
   */
  check(what: string): void {
    const changed = this.arrays.filter(({ array, before }) => !equal(bytesOf(array), before));
    if (changed.length === 0) return;
    for (const { array, before } of changed) bytesOf(array).set(before);
    const paths = changed.map(({ path }) => `"${path}"`).join(", ");
    throw new TesseractError("INPUT_CHANGED", `${what} changed its input ${paths} in place`, {
      hint: "In this process it is the caller's own array. Compute into a new one: x.data.map(…), not a loop that writes to x.data.",
    });
  }
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}
