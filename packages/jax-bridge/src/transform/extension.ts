/** A graph that grows: a transformation goes through a graph and adds to another. */
import { type Aval, aval, zerosOf } from "../arrays/aval.js";
import type { RuntimeArray } from "../arrays/runtime-array.js";
import { type JaxArray, jax } from "../jax.js";
import { type Graph, type Node, type SownValues, Value } from "../program/ir.js";
import { nothingOutside, type OutsideArrays } from "../program/outside.js";
import { Stage, type StageFunction, type StageFunctions } from "../program/stage.js";
import type { CallOperation } from "../tesseract/call-operation.js";
import { checkEndpoint } from "../tesseract/request.js";

export class Extension {
  readonly nodes: Node[] = [];
  readonly captured: Map<Value, RuntimeArray>;
  readonly sown: SownValues[];
  private readonly compile: boolean;

  constructor(graph: Graph) {
    this.captured = new Map(graph.captured);
    this.sown = [...graph.sown];
    this.compile = graph.compile;
  }

  graph(inputs: readonly Value[], outputs: readonly Value[]): Graph {
    const { nodes, captured, sown, compile } = this;
    return { inputs, captured, nodes, outputs, sown, compile };
  }

  /** @param outside what the functions take from outside */
  stage(
    name: string,
    functions: StageFunctions,
    inputs: readonly Value[],
    outside: OutsideArrays = nothingOutside,
  ): readonly Value[] {
    const stage = new Stage(
      name,
      inputs.map((input) => input.aval),
      functions,
      this.compile,
      outside,
    );
    const outputs = stage.outputs.map((output) => new Value(output.aval));
    this.nodes.push({ kind: "stage", stage, inputs, outputs });
    return outputs;
  }

  /** A stage that is the same whether its function is traced or not. */
  compute(name: string, of: StageFunction, inputs: readonly Value[]): readonly Value[] {
    return this.stage(name, { plain: of, traced: of }, inputs);
  }

  computeOne(name: string, of: StageFunction, inputs: readonly Value[]): Value {
    const [value] = this.compute(name, of, inputs);
    if (value === undefined) throw new Error(`The stage ${name} has no output`);
    return value;
  }

  zeros(of: Aval): Value {
    return this.computeOne("zeros", () => [zerosOf(aval(of.shape, of.dtype))], []);
  }

  sum(values: readonly Value[]): Value | undefined {
    const [first] = values;
    if (values.length < 2) return first;
    return this.computeOne("add", (inputs) => [total(inputs)], values);
  }

  /** @throws TesseractError ENDPOINT_NOT_FOUND */
  call(operation: CallOperation, inputs: readonly Value[], hints: readonly string[] = []): readonly Value[] {
    checkEndpoint(operation);
    const outputs = operation.outputAvals.map((each, index) => new Value(each, hints[index]));
    this.nodes.push({ kind: "call", operation, inputs, outputs });
    return outputs;
  }
}

/** Consumes the arrays, of which there is at least one. */
export function total(arrays: readonly JaxArray[]): JaxArray {
  return arrays.reduce((sum, array) => jax().numpy.add(sum, array));
}
