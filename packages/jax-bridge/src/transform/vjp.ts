/** Reverse mode: a program that computes cotangents after its values. */
import { isFloating } from "../arrays/aval.js";
import { type Graph, type Node, type StageNode, Value } from "../program/ir.js";
import { mapFunctions } from "../program/stage.js";
import { checkDifferentiable, pullCall } from "./call-derivatives.js";
import { Extension } from "./extension.js";
import { pullback } from "./stage-derivatives.js";

/**
 * Inputs: the graph's, then a cotangent for each of `of`. Outputs: the graph's, then a cotangent for each of `wrt`.
 *
 * @param wrt positions of inputs, of floating-point dtypes
 * @param of positions of outputs, of floating-point dtypes
 */
export function vjpGraph(graph: Graph, wrt: readonly number[], of: readonly number[]): Graph {
  const extension = new Extension(graph);
  extension.nodes.push(...graph.nodes);
  const backward = new Backward(extension, activeValues(graph, wrt));
  const seeds = of.flatMap((position) => {
    const output = graph.outputs[position];
    if (output === undefined) return [];
    const seed = new Value({ ...output.aval, weakType: false }, `cotangent of output ${position}`);
    backward.contribute(output, seed);
    return [seed];
  });
  for (const node of [...graph.nodes].reverse()) backward.visit(node);
  const cotangents = wrt.flatMap((position) => {
    const input = graph.inputs[position];
    return input === undefined ? [] : [backward.cotangentOf(input) ?? extension.zeros(input.aval)];
  });
  return extension.graph([...graph.inputs, ...seeds], [...graph.outputs, ...cotangents]);
}

/** The values that have a derivative by the chosen inputs other than zero. */
function activeValues(graph: Graph, wrt: readonly number[]): ReadonlySet<Value> {
  const active = new Set<Value>(wrt.flatMap((position) => graph.inputs[position] ?? []));
  for (const node of graph.nodes) {
    const inputs = node.inputs.flatMap((input, position) => (active.has(input) ? [position] : []));
    if (inputs.length === 0) continue;
    switch (node.kind) {
      case "stage":
        node.stage.outputs.forEach(({ differentiableBy }, position) => {
          const output = node.outputs[position];
          if (output !== undefined && inputs.some((input) => differentiableBy.has(input))) active.add(output);
        });
        break;
      case "call":
        checkDifferentiable(node, inputs);
        for (const output of node.outputs) if (isFloating(output.aval)) active.add(output);
        break;
      case "sow":
        for (const position of inputs) {
          const output = node.outputs[position];
          if (output !== undefined) active.add(output);
        }
    }
  }
  return active;
}

class Backward {
  private readonly contributions = new Map<Value, Value[]>();

  constructor(
    private readonly extension: Extension,
    private readonly active: ReadonlySet<Value>,
  ) {}

  contribute(value: Value, cotangent: Value): void {
    if (!this.active.has(value)) return;
    this.contributions.set(value, [...(this.contributions.get(value) ?? []), cotangent]);
  }

  /** What has come together for a value; undefined if that is zero. */
  cotangentOf(value: Value): Value | undefined {
    return this.extension.sum(this.contributions.get(value) ?? []);
  }

  visit(node: Node): void {
    switch (node.kind) {
      case "stage":
        this.pullStage(node);
        return;
      case "call": {
        const cotangents = node.outputs.map((output) => this.cotangentOf(output));
        const wanted = node.inputs.map((input) => this.active.has(input));
        this.contributeAll(node.inputs, pullCall(this.extension, node, cotangents, wanted));
        return;
      }
      case "sow": {
        if (!node.inputs.some((input) => this.active.has(input))) return;
        const own = node.outputs.map((output) => this.cotangentOf(output));
        const values = node.outputs.map((output, index) => own[index] ?? this.extension.zeros(output.aval));
        const outputs = values.map(({ aval, hint }) => new Value(aval, hint));
        const sow = { ...node.sow, mode: "cotangent" as const };
        this.extension.nodes.push({ kind: "sow", sow, inputs: values, outputs });
        this.extension.sown.push({ sow, values: outputs });
        this.contributeAll(
          node.inputs,
          outputs.map((output, index) => (own[index] === undefined ? undefined : output)),
        );
      }
    }
  }

  private pullStage({ stage, inputs, outputs }: StageNode): void {
    const given = outputs.flatMap((output, position) => (this.contributions.has(output) ? [position] : []));
    const wrt = inputs.flatMap((input, position) =>
      this.active.has(input) && given.some((output) => stage.outputs[output]?.differentiableBy.has(position))
        ? [position]
        : [],
    );
    if (wrt.length === 0) return;
    const parts = given.map((position) => this.contributions.get(outputs[position] as Value) ?? []);
    const lengths = parts.map(({ length }) => length);
    const results = this.extension.stage(
      `vjp(${stage.name})`,
      mapFunctions(stage.functions, pullback(inputs.length, wrt, given, lengths)),
      [...inputs, ...parts.flat()],
      stage.outside,
    );
    wrt.forEach((position, index) => {
      const [input, result] = [inputs[position], results[index]];
      if (input !== undefined && result !== undefined) this.contribute(input, result);
    });
  }

  private contributeAll(values: readonly Value[], cotangents: readonly (Value | undefined)[]): void {
    values.forEach((value, index) => {
      const cotangent = cotangents[index];
      if (cotangent !== undefined) this.contribute(value, cotangent);
    });
  }
}
