/** One call of a Tesseract as data: which, with what tree of inputs, giving what tree of outputs. */
import { type HostArray, hostArray, type NestedList, type Tesseract } from "@tesseract-ts/core";
import { type Aval, avalText } from "../arrays/aval.js";
import { asHostArray } from "../arrays/convert.js";
import { cudaArrayOf, isHost, isJaxValue } from "../arrays/kinds.js";
import { isOpaque, type OpaqueArray } from "../arrays/opaque.js";
import { programError } from "../errors.js";
import type { JaxArray } from "../jax.js";
import { type FlatTree, flatten, isRecord, leafSegments, type Structure, structureKey } from "../tree/tree.js";
import { abstractOutputs } from "./abstract-eval.js";
import type { ApplyOptions } from "./options.js";
import { matchPath } from "./paths.js";
import { schemaOf } from "./schema.js";

export interface InputSlot {
  readonly path: string;
  readonly differentiable: boolean;
  /** Whether the schema lets it have any rank, so that it may have a dimension for a batch. */
  readonly anyRank: boolean;
}

export interface OutputSlot {
  readonly path: string;
  readonly differentiable: boolean;
  readonly aval: Aval;
}

export interface CallSpec {
  readonly tesseract: Tesseract;
  readonly title: string;
  readonly inputs: Structure;
  readonly inputSlots: readonly InputSlot[];
  readonly outputs: Structure;
  readonly outputSlots: readonly OutputSlot[];
  readonly options: ApplyOptions;
  /** Equal for calls that are equal but for the values of their arrays. */
  readonly key: string;
}

/** An array among a call's inputs: one of the traced function, or one from outside jax-js. */
export type CallInput = JaxArray | OpaqueArray | object;

export const isCallInput = (value: unknown): value is CallInput =>
  isJaxValue(value) || isOpaque(value) || isHost(value) || cudaArrayOf(value) !== undefined;

/**
 * The arrays of a tree of inputs. Plain numbers and nested lists become arrays where the schema wants some; what else
 * is no array stays a static part of the tree.
 */
export function flattenInputs(tesseract: Tesseract, inputs: unknown): FlatTree<CallInput> {
  const schema = schemaOf(tesseract);
  const prepare = (value: unknown, segments: readonly string[]): unknown => {
    if (isCallInput(value)) return isHost(value) ? asHostArray(value) : value;
    if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint" || Array.isArray(value)) {
      const dtype = schema.arrayAt(segments);
      if (dtype !== undefined) return constant(value, dtype, segments);
    }
    if (Array.isArray(value)) return value.map((item, index) => prepare(item, [...segments, `[${index}]`]));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, prepare(member, [...segments, key])]));
  };
  if (!isRecord(inputs)) {
    throw programError("INVALID_TREE", "The inputs of a Tesseract are an object with a member for each input");
  }
  return flatten(prepare(inputs, []), isCallInput);
}

function constant(value: unknown, dtype: HostArray["dtype"], segments: readonly string[]): HostArray {
  try {
    const whole = dtype.startsWith("int") || dtype.startsWith("uint");
    const fits = !whole || typeof value !== "number" || Number.isInteger(value);
    return hostArray(value as NestedList, fits && dtype !== "bool" ? { dtype } : {});
  } catch (error) {
    throw programError(
      "INVALID_ARRAY",
      `The input ${segments.join(".")} is to be an array, but is a list of other things`,
      {
        hint: "Make one array of it first: np.stack for a list of arrays.",
        cause: error,
      },
    );
  }
}

const identities = new WeakMap<object, number>();
let lastIdentity = 0;

/** Equal for a Tesseract and its views that ask for the same encoding. */
export function tesseractKey({ openapiSchema, currentEncoding }: Tesseract): string {
  let identity = identities.get(openapiSchema);
  if (identity === undefined) {
    lastIdentity += 1;
    identity = lastIdentity;
    identities.set(openapiSchema, identity);
  }
  const { outputFormat, gpuTransport, compression } = currentEncoding;
  return [identity, outputFormat, gpuTransport, compression].map(String).join("/");
}

/** @throws Suspension while the Tesseract is asked for the shapes of its outputs */
export function makeCallSpec(
  tesseract: Tesseract,
  inputs: Structure,
  avals: readonly Aval[],
  options: ApplyOptions,
): CallSpec {
  const { leaves, structure } = abstractOutputs(tesseract, inputs, avals);
  const { differentiableInputs, differentiableOutputs, title } = schemaOf(tesseract);
  const { vmapMethod, materializeJacobian, checkStaticOutputs, device, runId } = options;
  const choices = [vmapMethod, materializeJacobian, checkStaticOutputs, device, runId].map(String).join(",");
  return {
    tesseract,
    title,
    inputs,
    inputSlots: leafSegments(inputs).map((segments) => {
      const { path, template } = matchPath(segments, differentiableInputs.keys());
      const anyRank = template !== undefined && differentiableInputs.get(template)?.shape === undefined;
      return { path, differentiable: template !== undefined, anyRank };
    }),
    outputs: structure,
    outputSlots: leafSegments(structure).flatMap((segments, index) => {
      const { path, template } = matchPath(segments, differentiableOutputs.keys());
      const aval = leaves[index];
      return aval === undefined ? [] : [{ path, differentiable: template !== undefined, aval }];
    }),
    options,
    key: `${tesseractKey(tesseract)} ${structureKey(inputs)} ${avals.map(avalText).join(" ")} ${choices}`,
  };
}
