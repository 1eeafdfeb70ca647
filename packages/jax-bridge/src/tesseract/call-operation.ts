/** What a node of a program asks of a Tesseract. */
import { type Aval, aval } from "../arrays/aval.js";
import type { CallSpec } from "./call-spec.js";

/**
 * Inputs and outputs of the kinds, in order:
 *
 * - `apply`: the call's arrays; its outputs
 * - `jvp`: the call's arrays, a tangent for each of `wrt`; a tangent for each of `of`
 * - `vjp`: the call's arrays, a cotangent for each of `of`; a cotangent for each of `wrt`
 * - `jacobian`: the call's arrays; for each of `of`, for each of `wrt` an array of both shapes one after the other
 */
export type CallKind = "apply" | "jvp" | "vjp" | "jacobian";

/** A batch of which each element is a request of its own. */
export interface Loop {
  readonly size: number;
  /** Of the operation's inputs, those that have a dimension for it. */
  readonly mapped: readonly boolean[];
}

export interface CallOperation {
  readonly kind: CallKind;
  readonly spec: CallSpec;
  /** Positions of inputs that are differentiated with respect to, ascending. */
  readonly wrt: readonly number[];
  /** Positions of outputs that are differentiated, ascending. */
  readonly of: readonly number[];
  /** From the outermost in. */
  readonly loops: readonly Loop[];
  /** With the dimensions of all loops. */
  readonly outputAvals: readonly Aval[];
}

export const operationKey = ({ kind, spec, wrt, of, loops }: CallOperation): string =>
  `${kind} ${wrt.join(",")} ${of.join(",")} ${loops.map(({ size, mapped }) => size + mapped.map(Number).join("")).join(" ")} ${spec.key}`;

export const primalCount = ({ spec }: CallOperation): number => spec.inputSlots.length;

export const applyOperation = (spec: CallSpec): CallOperation => ({
  kind: "apply",
  spec,
  wrt: [],
  of: spec.outputSlots.map((_, index) => index),
  loops: [],
  outputAvals: spec.outputSlots.map((slot) => slot.aval),
});

/** `y.left, z` of `source` in a message: the outputs and inputs of a derivative. */
export function describeOperation({ kind, spec, wrt, of, loops }: CallOperation): string {
  const names = {
    apply: "apply",
    jvp: "jacobian_vector_product",
    vjp: "vector_jacobian_product",
    jacobian: "jacobian",
  };
  const outputs = of.map((index) => spec.outputSlots[index]?.path).join(", ");
  const inputs = wrt.map((index) => spec.inputSlots[index]?.path).join(", ");
  const batch = loops.map(({ size }) => ` × ${size}`).join("");
  return kind === "apply"
    ? `${spec.title}.apply${batch}`
    : `${spec.title}.${names[kind]}[${outputs} by ${inputs}]${batch}`;
}

/** The Jacobian's blocks, row by row. Forward they have the outputs' dtypes, in reverse the inputs'. */
export const jacobianAvals = (
  outputs: readonly Aval[],
  inputs: readonly Aval[],
  mode: "forward" | "reverse",
): readonly Aval[] =>
  outputs.flatMap((output) =>
    inputs.map((input) => aval([...output.shape, ...input.shape], mode === "forward" ? output.dtype : input.dtype)),
  );
