/** What goes into a Tesseract and comes out of it. */
import type { HostArray } from "./arrays/host-array.js";

/**
 * A tree of inputs: plain objects and lists, with arrays and plain values as leaves. Numbers and nested lists go out
 * as plain JSON, and the server takes them where its schema wants an array. Arrays of jax-js, TensorFlow.js,
 * onnxruntime and ndarray are recognized too. Members that are undefined are left out.
 */
export type InputTree = { readonly [key: string]: unknown };

/** Arrays by their path in a tree, such as `params.{learning rate}` or `layers.[0].weights`. */
export type ArraysByPath<A = unknown> = { readonly [path: string]: A };

/** The types of a Tesseract's inputs and outputs, for `fromUrl<Heat>(…)`. */
export interface TesseractTypes {
  readonly inputs: object;
  readonly outputs: object;
}

/** What a Tesseract is taken for that isn't given a type: its outputs are assumed to be arrays by name. */
export interface Untyped extends TesseractTypes {
  readonly inputs: InputTree;
  readonly outputs: Record<string, HostArray>;
}

/** What `abstractEval` says of an array. */
export interface AbstractArray {
  readonly shape: readonly number[];
  readonly dtype: string;
}
