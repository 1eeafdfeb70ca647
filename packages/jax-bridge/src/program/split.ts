/** Cuts a program in two: what can be computed at once, and what waits for further inputs. */
import type { Graph, SownValues, Value } from "./ir.js";
import { prune } from "./prune.js";

export interface SplitGraph {
  /** Gives the outputs, then the values that the later part needs. */
  readonly first: Graph;
  /** The values that the first part keeps for the later part, in order. */
  readonly kept: readonly Value[];
  /** Its inputs are the later ones; the kept values are to be captured. */
  readonly later: Graph;
}

/**
 * @param count how many of the graph's inputs come first
 * @param outputs how many of its outputs are wanted at once
 */
export function splitGraph(graph: Graph, count: number, outputs: number): SplitGraph {
  const pruned = prune(graph);
  const laterInputs = pruned.inputs.slice(count);
  const waiting = new Set<Value>(laterInputs);
  const firstNodes = pruned.nodes.filter((node) => {
    if (!node.inputs.some((input) => waiting.has(input))) return true;
    for (const output of node.outputs) waiting.add(output);
    return false;
  });
  const laterNodes = pruned.nodes.filter((node) => !firstNodes.includes(node));
  const laterOutputs = pruned.outputs.slice(outputs);
  const isLater = ({ values }: SownValues): boolean => values.some((value) => waiting.has(value));
  const laterSown = pruned.sown.filter(isLater);
  const needed = new Set([
    ...laterNodes.flatMap(({ inputs }) => inputs),
    ...laterOutputs,
    ...laterSown.flatMap(({ values }) => values),
  ]);
  const kept = [...needed].filter((value) => !waiting.has(value));
  const first: Graph = {
    ...pruned,
    inputs: pruned.inputs.slice(0, count),
    nodes: firstNodes,
    outputs: [...pruned.outputs.slice(0, outputs), ...kept],
    sown: pruned.sown.filter((each) => !isLater(each)),
  };
  const later: Graph = {
    ...pruned,
    captured: new Map(),
    inputs: laterInputs,
    nodes: laterNodes,
    outputs: laterOutputs,
    sown: laterSown,
  };
  return { first, kept, later };
}
