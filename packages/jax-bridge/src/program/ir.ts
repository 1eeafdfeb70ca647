/** A program as data: values, and the stages and calls that make them. */
import type { Aval } from "../arrays/aval.js";
import type { RuntimeArray } from "../arrays/runtime-array.js";
import type { CallOperation } from "../tesseract/call-operation.js";
import type { Structure } from "../tree/tree.js";
import type { Stage } from "./stage.js";

/** One array of a program. Values are told apart by identity. */
export class Value {
  constructor(
    readonly aval: Aval,
    /** What it is, for printing: an argument's or an output's path. */
    readonly hint = "",
  ) {}
}

/** A pure function of jax-js. */
export interface StageNode {
  readonly kind: "stage";
  readonly stage: Stage;
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}

/** A request to an endpoint of a Tesseract, or one for each element of a batch. */
export interface CallNode {
  readonly kind: "call";
  readonly operation: CallOperation;
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}

/** A place where values are looked at: its outputs are its inputs. */
export interface SowNode {
  readonly kind: "sow";
  readonly sow: Sow;
  readonly inputs: readonly Value[];
  readonly outputs: readonly Value[];
}

export interface Sow {
  readonly name: string;
  readonly mode: "primal" | "tangent" | "cotangent";
  /** Of the tree that was sown. */
  readonly structure: Structure;
}

export type Node = StageNode | CallNode | SowNode;

export interface Graph {
  readonly inputs: readonly Value[];
  /** Values that a program brings along: arrays from outside the function, or kept from an earlier part. */
  readonly captured: ReadonlyMap<Value, RuntimeArray>;
  /** In an order in which each comes after those it needs. */
  readonly nodes: readonly Node[];
  readonly outputs: readonly Value[];
  /** What was sown, in the order of the program. */
  readonly sown: readonly SownValues[];
  /** Whether its stages are compiled. */
  readonly compile: boolean;
}

export interface SownValues {
  readonly sow: Sow;
  readonly values: readonly Value[];
}
