/** A program within a function that is being executed for another: its calls become calls of that one. */
import { isJaxValue } from "../arrays/kinds.js";
import { isOpaque } from "../arrays/opaque.js";
import { RuntimeArray } from "../arrays/runtime-array.js";
import type { JaxArray } from "../jax.js";
import { jax } from "../jax.js";
import type { Graph, Value } from "../program/ir.js";
import type { TraceContext } from "../program/trace-context.js";
import type { CallInput } from "../tesseract/call-spec.js";

export type Inlined = CallInput | number | boolean;

/** Consumes the arguments; the results are the caller's. */
export function inlineGraph(graph: Graph, args: readonly Inlined[], context: TraceContext): readonly Inlined[] {
  const values = new Map<Value, Inlined>();
  graph.inputs.forEach((value, index) => {
    const arg = args[index];
    if (arg !== undefined) values.set(value, arg);
  });
  for (const [value, array] of graph.captured) {
    values.set(value, isJaxValue(array.original) ? array.jaxNow() : array.original);
  }
  const read = (value: Value): Inlined => {
    const found = values.get(value);
    if (found === undefined) throw new Error("A value is missing");
    return isJaxValue(found) || isOpaque(found) ? found.ref : found;
  };
  for (const node of graph.nodes) {
    const results = ((): readonly unknown[] => {
      switch (node.kind) {
        case "stage":
          return node.stage.runWithin(node.inputs.map((input) => asJax(read(input))));
        case "call":
          return context.perform(
            { kind: "call", operation: node.operation },
            node.inputs.map((input) => asCallInput(read(input))),
          );
        case "sow":
          return context.perform(
            { kind: "sow", sow: node.sow, outputAvals: node.outputs.map((output) => output.aval) },
            node.inputs.map((input) => asCallInput(read(input))),
          );
      }
    })();
    node.outputs.forEach((output, index) => {
      values.set(output, results[index] as Inlined);
    });
  }
  const outputs = graph.outputs.map(read);
  for (const value of values.values()) if (isJaxValue(value) || isOpaque(value)) value.dispose();
  return outputs;
}

function asJax(value: Inlined): JaxArray {
  if (typeof value === "number" || typeof value === "boolean") return jax().numpy.array(value as number);
  if (isJaxValue(value)) return value;
  // An array from outside jax-js.
  return RuntimeArray.ofHost(value as never).jaxNow();
}

const asCallInput = (value: Inlined): CallInput =>
  typeof value === "number" || typeof value === "boolean" ? asJax(value) : value;
