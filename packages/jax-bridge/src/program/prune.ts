/** Drops what nothing uses, and makes equal calls one. */
import { type CallOperation, operationKey } from "../tesseract/call-operation.js";
import type { CallNode, Graph, Node, SownValues, Value } from "./ir.js";

export function prune(graph: Graph): Graph {
  return dropUnused(mergeCalls(graph));
}

/** Two calls of one operation with the same inputs are one. */
export function mergeCalls(graph: Graph): Graph {
  const ids = new Map<Value, number>();
  const idOf = (value: Value): number => {
    const id = ids.get(value) ?? ids.size;
    ids.set(value, id);
    return id;
  };
  const first = new Map<string, Node>();
  const replaced = new Map<Value, Value>();
  const current = (value: Value): Value => replaced.get(value) ?? value;
  const nodes: Node[] = [];
  for (const node of graph.nodes) {
    const inputs = node.inputs.map(current);
    if (node.kind === "call") {
      const key = `${operationKey(node.operation)} ${inputs.map(idOf).join(" ")}`;
      const equal = first.get(key);
      if (equal !== undefined) {
        node.outputs.forEach((output, index) => {
          replaced.set(output, equal.outputs[index] ?? output);
        });
        continue;
      }
      first.set(key, node);
    }
    nodes.push({ ...node, inputs });
  }
  if (replaced.size === 0) return graph;
  return {
    ...graph,
    nodes,
    outputs: graph.outputs.map(current),
    sown: graph.sown.map((each) => mapSown(each, current)),
  };
}

const mapSown = ({ sow, values }: SownValues, of: (value: Value) => Value): SownValues => ({
  sow,
  values: values.map(of),
});

function dropUnused(graph: Graph): Graph {
  const used = new Set<Value>([...graph.outputs, ...graph.sown.flatMap(({ values }) => values)]);
  const kept: Node[] = [];
  for (const node of [...graph.nodes].reverse()) {
    const positions = node.outputs.flatMap((output, index) => (used.has(output) ? [index] : []));
    if (positions.length === 0) continue;
    const narrowed = narrow(node, positions);
    for (const input of narrowed.inputs) used.add(input);
    kept.push(narrowed);
  }
  const captured = new Map([...graph.captured].filter(([value]) => used.has(value)));
  return { ...graph, captured, nodes: kept.reverse() };
}

/** A node with only these of its outputs. */
function narrow(node: Node, positions: readonly number[]): Node {
  const outputs = positions.flatMap((position) => node.outputs[position] ?? []);
  if (node.kind === "stage") {
    const everyInput = new Set(positions.flatMap((position) => [...(node.stage.outputs[position]?.dependsOn ?? [])]));
    if (positions.length === node.outputs.length && everyInput.size === node.inputs.length) return node;
    const { stage, inputs } = node.stage.select(positions);
    return { ...node, stage, inputs: inputs.flatMap((input) => node.inputs[input] ?? []), outputs };
  }
  return node.kind === "call" ? narrowCall(node, positions) : node;
}

/** Derivatives are asked for by path: only those that are used. An `apply` gives what it gives. */
function narrowCall(node: CallNode, positions: readonly number[]): CallNode {
  const { operation } = node;
  const kept = (operationPositions: readonly number[], change: Partial<CallOperation>): CallNode => ({
    ...node,
    operation: {
      ...operation,
      ...change,
      outputAvals: operationPositions.flatMap((position) => operation.outputAvals[position] ?? []),
    },
    outputs: operationPositions.flatMap((position) => node.outputs[position] ?? []),
  });
  switch (operation.kind) {
    case "apply":
      return node;
    case "jvp":
      return kept(positions, { of: positions.flatMap((position) => operation.of[position] ?? []) });
    case "vjp":
      return kept(positions, { wrt: positions.flatMap((position) => operation.wrt[position] ?? []) });
    case "jacobian": {
      const columns = operation.wrt.length;
      const rowIndices = [...new Set(positions.map((position) => Math.floor(position / columns)))];
      const columnIndices = [...new Set(positions.map((position) => position % columns))].sort((a, b) => a - b);
      return kept(
        rowIndices.flatMap((row) => columnIndices.map((column) => row * columns + column)),
        {
          of: rowIndices.flatMap((row) => operation.of[row] ?? []),
          wrt: columnIndices.flatMap((column) => operation.wrt[column] ?? []),
        },
      );
    }
  }
}
