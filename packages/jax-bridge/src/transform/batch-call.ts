/** A call of a Tesseract for a batch of inputs, by the method that the call chose. */
import { aval, batched, isJaxDType } from "../arrays/aval.js";
import { unsupportedDType } from "../arrays/convert.js";
import { programError } from "../errors.js";
import { type JaxArray, jax } from "../jax.js";
import type { CallNode, Value } from "../program/ir.js";
import { type CallOperation, jacobianAvals, primalCount } from "../tesseract/call-operation.js";
import type { Extension } from "./extension.js";
import { only, repeated } from "./vmap.js";

/**
 * The outputs with the batch's dimension in front.
 *
 * @param batches for each input of the node the batch that it has; undefined for the same in all elements
 */
export function batchCall(
  extension: Extension,
  node: CallNode,
  batches: readonly (Value | undefined)[],
  size: number,
): readonly Value[] {
  const { operation } = node;
  const { spec, kind } = operation;
  if (wantsJacobian(operation, batches)) return byJacobian(extension, node, batches, size);
  if (kind === "jacobian") return sequential(extension, node, batches, size);
  const method = spec.options.vmapMethod;
  if (method === undefined) {
    throw programError(
      "VMAP_METHOD_MISSING",
      `A batch of calls of ${spec.title} is needed, but its call chose no vmapMethod`,
      {
        hint:
          'Pass one to applyTesseract: "sequential" always works; "expand_dims" and "broadcast_all" make one request where the ' +
          'Tesseract takes a dimension for the batch; "auto_experimental" looks at its schema.',
      },
    );
  }
  // An endpoint takes one cotangent at a time, and a loop that is there already has no room for a dimension.
  const batchedCotangent = kind === "vjp" && batches.slice(primalCount(operation)).some((batch) => batch !== undefined);
  if (method === "sequential" || batchedCotangent || operation.loops.length > 0) {
    return sequential(extension, node, batches, size);
  }
  if (method === "auto_experimental" && !canHaveBatch(operation, batches)) {
    return sequential(extension, node, batches, size);
  }
  return vectorized(extension, node, batches, size, method === "broadcast_all");
}

function sequential(
  extension: Extension,
  node: CallNode,
  batches: readonly (Value | undefined)[],
  size: number,
): readonly Value[] {
  const { operation } = node;
  return extension.call(
    {
      ...operation,
      loops: [{ size, mapped: batches.map((batch) => batch !== undefined) }, ...operation.loops],
      outputAvals: operation.outputAvals.map((each) => batched(each, size)),
    },
    node.inputs.map((input, index) => batches[index] ?? input),
    node.outputs.map(({ hint }) => hint),
  );
}

/** One request, with a dimension for the batch in every input. */
function vectorized(
  extension: Extension,
  node: CallNode,
  batches: readonly (Value | undefined)[],
  size: number,
  broadcastAll: boolean,
): readonly Value[] {
  const { operation } = node;
  const count = primalCount(operation);
  const inputs = node.inputs.map((input, position): Value => {
    const batch = batches[position];
    if (batch !== undefined) return batch;
    if (!isJaxDType(input.aval.dtype)) throw unsupportedDType(input.aval.dtype, `The input ${input.hint} of a batch`);
    if (broadcastAll || needsWholeBatch(operation, batches, position)) return repeated(extension, input, size);
    return extension.computeOne(
      "a dimension for the batch",
      ([array]) => only(array, (each) => jax().numpy.expandDims(each, 0)),
      [input],
    );
  });
  const outputAvals =
    operation.kind === "vjp"
      ? operation.wrt.map((position) => inputs[position]?.aval ?? aval([], "float64"))
      : operation.outputAvals.map((each) => batched(each, size));
  if (count > inputs.length) throw new Error("A call has fewer inputs than its Tesseract");
  return extension.call(
    { ...operation, outputAvals },
    inputs,
    node.outputs.map(({ hint }) => hint),
  );
}

/**
 * A tangent and what it is a tangent of have one shape. In a `vjp` each cotangent has the batch, as the outputs do, and an
 * input that is differentiated needs a row for each element, to get a gradient of its own for each.
 */
function needsWholeBatch(operation: CallOperation, batches: readonly (Value | undefined)[], position: number): boolean {
  const count = primalCount(operation);
  if (operation.kind === "jvp") {
    const vector = operation.wrt.indexOf(position);
    const partner = position < count ? (vector < 0 ? -1 : count + vector) : (operation.wrt[position - count] ?? -1);
    return batches[partner] !== undefined;
  }
  return operation.kind === "vjp" && (position >= count || operation.wrt.includes(position));
}

/** Whether the schema lets each input that has the batch have any rank. */
function canHaveBatch(operation: CallOperation, batches: readonly (Value | undefined)[]): boolean {
  const count = primalCount(operation);
  return operation.spec.inputSlots.every(({ anyRank }, position) => {
    const vector = operation.kind === "jvp" ? operation.wrt.indexOf(position) : -1;
    const has = batches[position] !== undefined || (vector >= 0 && batches[count + vector] !== undefined);
    return anyRank || !has;
  });
}

/** Whether the batch is one of vectors at a single point, for which there is one matrix. */
function wantsJacobian(operation: CallOperation, batches: readonly (Value | undefined)[]): boolean {
  const { kind, spec, loops } = operation;
  if (kind !== "jvp" && kind !== "vjp") return false;
  const count = primalCount(operation);
  const point = batches.slice(0, count).every((batch) => batch === undefined);
  if (!point || loops.length > 0) return false;
  const available = spec.tesseract.availableEndpoints.includes("jacobian");
  const { materializeJacobian } = spec.options;
  if (materializeJacobian === true && !available) {
    throw programError(
      "ENDPOINT_NOT_FOUND",
      `materializeJacobian is true, but ${spec.title} has no endpoint "jacobian"`,
      {
        hint: `It has ${spec.tesseract.availableEndpoints.join(", ")}. Leave the option out, and choose a vmapMethod.`,
      },
    );
  }
  return materializeJacobian ?? available;
}

function byJacobian(
  extension: Extension,
  node: CallNode,
  batches: readonly (Value | undefined)[],
  size: number,
): readonly Value[] {
  const { operation } = node;
  const { kind, wrt, of, spec } = operation;
  const count = primalCount(operation);
  const inputAvals = wrt.flatMap((position) => node.inputs[position]?.aval ?? []);
  const outputAvals =
    kind === "jvp" ? operation.outputAvals : node.inputs.slice(count).map((cotangent) => cotangent.aval);
  const blocks = extension.call(
    {
      ...operation,
      kind: "jacobian",
      outputAvals: jacobianAvals(outputAvals, inputAvals, kind === "jvp" ? "forward" : "reverse"),
    },
    node.inputs.slice(0, count),
    of.flatMap((row) => wrt.map((column) => `${spec.outputSlots[row]?.path} by ${spec.inputSlots[column]?.path}`)),
  );
  const vectors = node.inputs
    .slice(count)
    .map((input, index) => batches[count + index] ?? repeated(extension, input, size));
  const [rows, columns] = [of.length, wrt.length];
  const results = kind === "jvp" ? outputAvals : inputAvals;
  return results.map((result, position) => {
    const parts = vectors.flatMap((vector, index) => {
      const block = blocks[kind === "jvp" ? position * columns + index : index * columns + position];
      return block === undefined ? [] : [{ vector, block }];
    });
    if (parts.length !== (kind === "jvp" ? columns : rows)) throw new Error("A Jacobian lacks a block");
    const elements = result.shape.reduce((product, length) => product * length, 1);
    return extension.computeOne(
      "products with the Jacobian",
      (arrays) => {
        const products = parts.map((_, index) =>
          product(arrays[2 * index], arrays[2 * index + 1], elements, size, kind === "jvp"),
        );
        const sum = products.reduce((all, each) => jax().numpy.add(all, each));
        return [sum.reshape([size, ...result.shape]).astype(result.dtype as never)];
      },
      parts.flatMap(({ vector, block }) => [vector, block]),
    );
  });
}

/** Rows of vectors times a block of the Jacobian, or its transpose; both flattened to matrices. */
function product(
  vectors: JaxArray | undefined,
  block: JaxArray | undefined,
  elements: number,
  size: number,
  transposed: boolean,
): JaxArray {
  if (vectors === undefined || block === undefined) throw new Error("A stage lacks an input");
  const { numpy: np } = jax();
  const inner = vectors.size / size;
  const flat = vectors.reshape([size, inner]).astype(block.dtype);
  const matrix = transposed ? block.reshape([elements, inner]).transpose() : block.reshape([inner, elements]);
  return np.matmul(flat, matrix);
}
