/** Arrays on their way to an endpoint and back. */
import {
  type CudaArray,
  elementCount,
  entriesPerElement,
  type HostArray,
  isHostArray,
  makeHostArray,
  type TypedArray,
} from "@tesseract-ts/core";
import { type Aval, avalText, sameShape } from "../arrays/aval.js";
import { cudaArrayOf } from "../arrays/kinds.js";
import { copiedToHost, disposeCuda, inDType } from "../arrays/runtime-array.js";
import { programError } from "../errors.js";
import { isRecord, type Structure, walk } from "../tree/tree.js";
import type { CallSpec } from "./call-spec.js";

export type Payload = HostArray | CudaArray;

/** One element of a batch along the first dimension, over the same memory. */
export function elementOf(array: Payload, index: number): Payload {
  if (isHostArray(array)) {
    const shape = array.shape.slice(1);
    const entries = elementCount(shape) * entriesPerElement(array.dtype);
    const data = (array.data as Uint8Array).subarray(index * entries, (index + 1) * entries) as TypedArray;
    return makeHostArray(array.dtype, shape, data);
  }
  const { cudaArrayInterface: whole } = array;
  if (whole.strides !== undefined && whole.strides !== null) {
    throw programError(
      "INVALID_ARRAY",
      "A batch of GPU arrays isn't in C order, so its elements can't be sent one by one",
    );
  }
  const shape = whole.shape.slice(1);
  const bytes = BigInt(elementCount(shape) * Number(/\d+$/.exec(whole.typestr)?.[0] ?? "1") * index);
  const [pointer, readOnly] = whole.data;
  return {
    cudaArrayInterface: { ...whole, shape, data: [pointer + bytes, readOnly] },
    ...(array.device === undefined ? {} : { device: array.device }),
    // A view: it keeps the whole alive for as long as it is used.
    copyToHost: async (options) => elementOf(await hostOf(array, options), index) as HostArray,
  };
}

/** The arrays one after another along a new first dimension. */
export function stack(arrays: readonly HostArray[], size: number, element: Aval): HostArray {
  const entries = elementCount(element.shape) * entriesPerElement(element.dtype);
  const [first] = arrays;
  const Kind = first === undefined ? Float64Array : (first.data.constructor as Float64ArrayConstructor);
  const data = new Kind(entries * size);
  arrays.forEach((array, index) => {
    data.set(array.data as Float64Array, index * entries);
  });
  return makeHostArray(first?.dtype ?? element.dtype, [size, ...element.shape], data);
}

export async function hostOf(array: Payload, options: { readonly signal?: AbortSignal } = {}): Promise<HostArray> {
  if (isHostArray(array)) return array;
  const host = await copiedToHost(array, options);
  disposeCuda(array);
  return host;
}

/** What an endpoint gave for one array, checked against what was announced. */
export function received(value: unknown, expected: Aval, path: string, spec: CallSpec): Payload {
  const cuda = cudaArrayOf(value);
  const shape = cuda?.cudaArrayInterface.shape ?? (isHostArray(value) ? value.shape : undefined);
  if (shape === undefined) {
    throw programError("MALFORMED_RESPONSE", `${spec.title} gave no array for ${path}`);
  }
  if (!sameShape(shape, expected.shape)) {
    throw programError(
      "MALFORMED_RESPONSE",
      `${spec.title} gave an array of shape [${shape.join(", ")}] for ${path}, where ${avalText(expected)} was announced`,
      {
        hint: "Its endpoints must agree with its abstract_eval, and derivatives with the shapes of what they belong to.",
      },
    );
  }
  return cuda ?? inDType(value as HostArray, expected.dtype);
}

/** Picks the arrays out of the tree that `apply` gave, and reports static outputs that aren't as announced. */
export function outputsOf(tree: unknown, spec: CallSpec, avals: readonly Aval[]): readonly Payload[] {
  const arrays: Payload[] = [];
  const warn = spec.options.onWarning ?? ((message: string) => console.warn(message));
  walk(spec.outputs, [], (node: Structure, segments) => {
    const value = valueAt(tree, segments);
    if (node.kind === "leaf") {
      const slot = spec.outputSlots[arrays.length];
      const expected = avals[arrays.length];
      if (slot !== undefined && expected !== undefined) arrays.push(received(value, expected, slot.path, spec));
    } else if (node.kind === "static" && spec.options.checkStaticOutputs !== false && differ(value, node.value)) {
      warn(
        `The Tesseract ${spec.title} gave ${JSON.stringify(value)} for the static output ${segments.join(".")}, but its ` +
          `abstract_eval announced ${JSON.stringify(node.value)}. Programs use what was announced.`,
      );
    }
  });
  return arrays;
}

function valueAt(tree: unknown, segments: readonly string[]): unknown {
  let value = tree;
  for (const segment of segments) {
    const index = /^\[(\d+)\]$/.exec(segment)?.[1];
    if (index !== undefined && Array.isArray(value)) value = value[Number(index)];
    else value = isRecord(value) && Object.hasOwn(value, segment) ? value[segment] : undefined;
  }
  return value;
}

const differ = (a: unknown, b: unknown): boolean =>
  (a ?? null) !== (b ?? null) && !(Array.isArray(a) && Array.isArray(b) && a.length === 0 && b.length === 0);
