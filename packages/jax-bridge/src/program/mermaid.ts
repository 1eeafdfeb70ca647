/** A program as a Mermaid flowchart (https://mermaid.js.org): stages are boxes, calls are rounded, values label the arrows. */
import { avalText } from "../arrays/aval.js";
import type { Graph, Value } from "./ir.js";
import { describe } from "./print.js";

export function mermaidOf(graph: Graph): string {
  const lines = ["flowchart TD"];
  const makers = new Map<Value, string>();
  graph.inputs.forEach((value, index) => {
    makers.set(value, `in${index}`);
    lines.push(`  in${index}([${quoted(value.hint || `input ${index}`)}])`);
  });
  [...graph.captured.keys()].forEach((value, index) => {
    makers.set(value, `const${index}`);
    lines.push(`  const${index}[/${quoted(value.hint || "constant")}/]`);
  });
  graph.nodes.forEach((node, index) => {
    const id = `n${index}`;
    const [open, close] = node.kind === "stage" ? ["[", "]"] : node.kind === "call" ? ["(", ")"] : ["{{", "}}"];
    lines.push(`  ${id}${open}${quoted(describe(node))}${close}`);
    if (node.kind === "call") lines.push(`  class ${id} tesseract`);
    for (const input of node.inputs) lines.push(arrow(makers.get(input), id, input));
    for (const output of node.outputs) makers.set(output, id);
  });
  graph.outputs.forEach((value, index) => {
    lines.push(`  out${index}([${quoted(`output ${index}`)}])`);
    lines.push(arrow(makers.get(value), `out${index}`, value));
  });
  lines.push("  classDef tesseract fill:#e8f0fe,stroke:#1a5fb4");
  return lines.join("\n");
}

const arrow = (from: string | undefined, to: string, value: Value): string =>
  `  ${from ?? "unknown"} -->|${quoted([value.hint, avalText(value.aval)].filter(Boolean).join(" "))}| ${to}`;

/** Mermaid's own way to write quotes within text. */
const quoted = (text: string): string => `"${text.replaceAll('"', "#quot;")}"`;
