/** Forward mode: a program that computes tangents beside its values. */
import { isFloating } from "../arrays/aval.js";
import { type Graph, type Node, Value } from "../program/ir.js";
import { mapFunctions } from "../program/stage.js";
import { pushCall } from "./call-derivatives.js";
import { Extension } from "./extension.js";
import { pushforward } from "./stage-derivatives.js";

/**
 * Inputs: the graph's, then a tangent for each of `wrt`. Outputs: the graph's, then a tangent for each.
 *
 * @param wrt positions of inputs, of floating-point dtypes
 */
export function jvpGraph(graph: Graph, wrt: readonly number[]): Graph {
  const extension = new Extension(graph);
  const tangents = new Map<Value, Value>();
  const inputs = wrt.flatMap((position) => {
    const primal = graph.inputs[position];
    if (primal === undefined) return [];
    const tangent = new Value(primal.aval, `tangent of ${primal.hint}`);
    tangents.set(primal, tangent);
    return [tangent];
  });
  for (const node of graph.nodes) {
    extension.nodes.push(node);
    pushNode(extension, node, tangents);
  }
  const outputs = graph.outputs.map((output) => tangents.get(output) ?? extension.zeros(output.aval));
  return extension.graph([...graph.inputs, ...inputs], [...graph.outputs, ...outputs]);
}

function pushNode(extension: Extension, node: Node, tangents: Map<Value, Value>): void {
  const own = node.inputs.map((input) => tangents.get(input));
  const define = (results: readonly (Value | undefined)[], of: readonly Value[]): void => {
    of.forEach((output, index) => {
      const tangent = results[index];
      if (tangent !== undefined) tangents.set(output, tangent);
    });
  };
  switch (node.kind) {
    case "call":
      define(pushCall(extension, node, own), node.outputs);
      return;
    case "sow": {
      const values = node.inputs.map((input, index) => own[index] ?? extension.zeros(input.aval));
      const outputs = node.outputs.map((output) => new Value(output.aval, output.hint));
      const sow = { ...node.sow, mode: "tangent" as const };
      extension.nodes.push({ kind: "sow", sow, inputs: values, outputs });
      extension.sown.push({ sow, values: outputs });
      define(
        outputs.map((output, index) => (own[index] === undefined ? undefined : output)),
        node.outputs,
      );
      return;
    }
    case "stage": {
      const { stage } = node;
      const wrt = own.flatMap((tangent, position) => (tangent === undefined ? [] : [position]));
      const varying = stage.outputs.flatMap(({ aval, differentiableBy }, position) =>
        isFloating(aval) && wrt.some((input) => differentiableBy.has(input)) ? [position] : [],
      );
      if (varying.length === 0) return;
      const results = extension.stage(
        `jvp(${stage.name})`,
        mapFunctions(stage.functions, pushforward(node.inputs.length, wrt, varying)),
        [...node.inputs, ...own.filter((tangent) => tangent !== undefined)],
        stage.outside,
      );
      define(
        results,
        varying.flatMap((position) => node.outputs[position] ?? []),
      );
      return;
    }
  }
}
