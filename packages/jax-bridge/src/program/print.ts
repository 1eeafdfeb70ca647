/** A program as text, in the manner of a jaxpr. */
import { describeOperation } from "../tesseract/call-operation.js";
import type { Graph, Node } from "./ir.js";
import { Names } from "./names.js";

export function printGraph(name: string, graph: Graph): string {
  const names = new Names(graph);
  const captured = [...graph.captured.keys()].map((value) => names.typed(value));
  const lines = [
    `{ program ${name} ${graph.inputs.map((value) => names.typed(value)).join(", ")} .`,
    ...(captured.length === 0 ? [] : [`  with ${captured.join(", ")}`]),
  ];
  for (const node of graph.nodes) {
    const outputs = node.outputs.map((value) => names.typed(value)).join(" ");
    const inputs = node.inputs.map((value) => names.of(value)).join(" ");
    lines.push(`  ${outputs} = ${describe(node)} ${inputs}`.trimEnd());
    if (node.kind === "stage") {
      for (const line of String(node.stage.jaxpr).split("\n")) lines.push(`      ${line}`);
    }
  }
  lines.push(`  in ( ${graph.outputs.map((value) => names.of(value)).join(", ")} ) }`);
  return lines.join("\n");
}

export function describe(node: Node): string {
  switch (node.kind) {
    case "stage":
      return `stage ${node.stage.name}`;
    case "call":
      return `call ${describeOperation(node.operation)}`;
    case "sow":
      return `sow "${node.sow.name}" ${node.sow.mode}`;
  }
}
