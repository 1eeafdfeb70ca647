/** Batches: a program for one element becomes a program for all of them. */
import { batched } from "../arrays/aval.js";
import { type JaxArray, jax } from "../jax.js";
import { type Graph, type Node, type StageNode, Value } from "../program/ir.js";
import { mapFunctions } from "../program/stage.js";
import { batchCall } from "./batch-call.js";
import { Extension } from "./extension.js";
import { batchedStage } from "./stage-derivatives.js";

/** The batch that a value is an element of, as one value with the batch's dimension in front. */
export type Batches = ReadonlyMap<Value, Value>;

/**
 * Inputs: the graph's, with the batch's dimension where `axes` says. Outputs: the graph's, with that dimension in front.
 *
 * @param axes for each input the dimension of the batch; null where it has none
 */
export function vmapGraph(graph: Graph, axes: readonly (number | null)[], size: number): Graph {
  const extension = new Extension(graph);
  const batches = new Map<Value, Value>();
  const inputs = graph.inputs.map((input, index) => {
    const axis = axes[index] ?? null;
    if (axis === null) return input;
    const shape = [...input.aval.shape];
    shape.splice(axis, 0, size);
    const whole = new Value({ ...input.aval, shape, weakType: false }, input.hint);
    batches.set(input, axis === 0 ? whole : moved(extension, whole, axis));
    return whole;
  });
  // What was sown has the batch too, where it comes from it.
  extension.sown.length = 0;
  for (const node of graph.nodes) batchNode(extension, node, batches, size);
  for (const { sow, values } of graph.sown) {
    extension.sown.push({ sow, values: values.map((value) => batches.get(value) ?? value) });
  }
  const outputs = graph.outputs.map((output) => batches.get(output) ?? repeated(extension, output, size));
  return extension.graph(inputs, outputs);
}

function batchNode(extension: Extension, node: Node, batches: Map<Value, Value>, size: number): void {
  const own = node.inputs.map((input) => batches.get(input));
  if (own.every((batch) => batch === undefined)) {
    extension.nodes.push(node);
    return;
  }
  switch (node.kind) {
    case "stage":
      batchStage(extension, node, batches, size);
      return;
    case "call": {
      const results = batchCall(extension, node, own, size);
      node.outputs.forEach((output, index) => {
        const result = results[index];
        if (result !== undefined) batches.set(output, result);
      });
      return;
    }
    case "sow": {
      const outputs = node.outputs.map((output, index) => {
        const batch = own[index];
        if (batch === undefined) return output;
        const whole = new Value(batch.aval, output.hint);
        batches.set(output, whole);
        return whole;
      });
      extension.nodes.push({ ...node, inputs: node.inputs.map((input, index) => own[index] ?? input), outputs });
      return;
    }
  }
}

/** Outputs that don't depend on the batch are computed once. */
function batchStage(extension: Extension, node: StageNode, batches: Map<Value, Value>, size: number): void {
  const depends = node.outputs.map((_, position) =>
    [...(node.stage.outputs[position]?.dependsOn ?? [])].some((input) => {
      const value = node.inputs[input];
      return value !== undefined && batches.has(value);
    }),
  );
  const varying = depends.flatMap((each, position) => (each ? [position] : []));
  const fixed = depends.flatMap((each, position) => (each ? [] : [position]));
  if (fixed.length > 0) {
    const { stage, inputs } = node.stage.select(fixed);
    extension.nodes.push({
      kind: "stage",
      stage,
      inputs: inputs.flatMap((input) => node.inputs[input] ?? []),
      outputs: fixed.flatMap((position) => node.outputs[position] ?? []),
    });
  }
  if (varying.length === 0) return;
  const { stage, inputs } = node.stage.select(varying);
  const values = inputs.flatMap((input) => node.inputs[input] ?? []);
  const results = extension.stage(
    `vmap(${stage.name})`,
    mapFunctions(stage.functions, batchedStage(values.map((value) => batches.has(value)))),
    values.map((value) => batches.get(value) ?? value),
    stage.outside,
  );
  varying.forEach((position, index) => {
    const [output, result] = [node.outputs[position], results[index]];
    if (output !== undefined && result !== undefined) {
      if (result.aval.shape[0] !== size) throw new Error("A batch has lost its dimension");
      batches.set(output, result);
    }
  });
}

const moved = (extension: Extension, whole: Value, axis: number): Value =>
  extension.computeOne(
    "move the batch to the front",
    ([array]) => only(array, (each) => jax().numpy.moveaxis(each, axis, 0)),
    [whole],
  );

/** The same for each element. */
export function repeated(extension: Extension, value: Value, size: number): Value {
  const { shape } = batched(value.aval, size);
  return extension.computeOne(
    "repeat along the batch",
    ([array]) => only(array, (each) => jax().numpy.broadcastTo(each, [...shape])),
    [value],
  );
}

export const only = (array: JaxArray | undefined, of: (array: JaxArray) => JaxArray): readonly JaxArray[] =>
  array === undefined ? [] : [of(array)];
