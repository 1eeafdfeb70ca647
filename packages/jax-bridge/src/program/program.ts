/** A program: what a function, or a transformation of one, does for arguments of one kind. */

import type { Structure } from "../tree/tree.js";
import { graphOf } from "./graph.js";
import type { Graph } from "./ir.js";
import { prune } from "./prune.js";
import type { Stage } from "./stage.js";
import type { TraceOptions } from "./trace-context.js";
import type { Signature, UserFunction } from "./traced-function.js";
import { traceFunction } from "./traced-function.js";

export interface Program {
  readonly name: string;
  readonly graph: Graph;
  /** Of the list of arguments. */
  readonly inputStructure: Structure;
  readonly outputStructure: Structure;
  /** Ends what jax-js keeps for it. */
  dispose(): void;
}

export interface BuildOptions extends TraceOptions {
  /** Whether stages are compiled, and the function is executed once for each kind of arguments only. */
  readonly compile: boolean;
}

/** @throws Suspension while a Tesseract is asked for the shapes of its outputs */
export function programOf(of: UserFunction, signature: Signature, options: BuildOptions): Program {
  const trace = traceFunction(of, signature, options, options.compile);
  const graph = prune(graphOf(trace, signature));
  return {
    name: of.name || "f",
    graph,
    inputStructure: signature.structure,
    outputStructure: trace.outputStructure,
    dispose: () => {
      trace.dispose();
      disposeStages(graph);
    },
  };
}

/** The same program with another graph. */
export function transformed(
  program: Program,
  name: string,
  graph: Graph,
  inputStructure: Structure,
  outputStructure: Structure,
): Program {
  const pruned = prune(graph);
  return {
    name,
    graph: pruned,
    inputStructure,
    outputStructure,
    dispose: () => {
      program.dispose();
      // The given program's stages are its own to end, should it be kept.
      disposeStages(
        pruned,
        new Set(program.graph.nodes.flatMap((node) => (node.kind === "stage" ? [node.stage] : []))),
      );
    },
  };
}

function disposeStages(graph: Graph, kept: ReadonlySet<Stage> = new Set()): void {
  for (const node of graph.nodes) if (node.kind === "stage" && !kept.has(node.stage)) node.stage.dispose();
}
