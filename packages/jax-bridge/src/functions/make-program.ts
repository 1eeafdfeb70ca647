/** Programs to look at. */
import type { CallOptions } from "@tesseract-ts/core";
import { translated } from "../errors.js";
import { loadJax } from "../jax.js";
import { explainGraph, explanationText, type ProgramExplanation } from "../program/explain.js";
import type { Graph } from "../program/ir.js";
import { mermaidOf } from "../program/mermaid.js";
import { describe, printGraph } from "../program/print.js";
import type { Device } from "../tesseract/options.js";
import { flattenArguments, signatureOf } from "./arguments.js";
import { guardedPromise } from "./guarded-promise.js";
import { buildSettled } from "./program-call.js";
import { sourceOf } from "./source.js";
import type { ArgumentsOf, ProgramFunction } from "./types.js";

/** A program's stages and calls, in an order in which each comes after those it needs. */
export class ProgramView {
  constructor(
    readonly name: string,
    private readonly graph: Graph,
    private readonly device: Device,
  ) {}

  /** What runs, one line each: `stage f`, `call heat.apply`. */
  get steps(): readonly string[] {
    return this.graph.nodes.map(describe);
  }

  /** The requests of one run, by endpoint; a batch counts for each of its elements. */
  get requests(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const node of this.graph.nodes) {
      if (node.kind !== "call") continue;
      const { kind, loops } = node.operation;
      counts[kind] = (counts[kind] ?? 0) + loops.reduce((product, { size }) => product * size, 1);
    }
    return counts;
  }

  /** As `makeJaxpr` prints a function, with calls between the stages. */
  toString(): string {
    return printGraph(this.name, this.graph);
  }

  /** A Mermaid flowchart. */
  toMermaid(): string {
    return mermaidOf(this.graph);
  }

  /** How its arrays travel: what is copied between a device and the host, and why. */
  explain(): ProgramExplanation & { toString(): string } {
    const explanation = explainGraph(this.graph, this.device);
    return { ...explanation, toString: () => explanationText(explanation) };
  }
}

/**
 * Builds the program of a function, or of a transformation of one, without running it. The arguments are examples: only their
 * shapes and dtypes count, and they stay the caller's.
 *
 * @example
 * const program = await makeProgram(jit(grad(loss)))(guess);
 * console.log(String(program), program.toMermaid());
 */
export function makeProgram<F extends ProgramFunction>(
  f: F,
  { device = "cpu", signal, timeout }: { readonly device?: Device } & CallOptions = {},
): (...args: ArgumentsOf<F>) => Promise<ProgramView> {
  const source = sourceOf(f);
  return (...args) => guardedPromise(build(args), "makeProgram");

  async function build(args: readonly unknown[]): Promise<ProgramView> {
    await loadJax();
    try {
      const signature = signatureOf(flattenArguments(args));
      const program = await buildSettled(source, signature, { compile: false, sowTag: undefined }, { signal, timeout });
      const view = new ProgramView(program.name, program.graph, device);
      // What it prints is known before jax-js lets go of its traces.
      view.toString();
      program.dispose();
      return view;
    } catch (error) {
      throw translated(error);
    }
  }
}
