/** Transformations that give a value now and a function for later: `vjp` and `linearize`. */
import type { HostArray } from "@tesseract-ts/core";
import type { RuntimeArray } from "../arrays/runtime-array.js";
import { programError, translated } from "../errors.js";
import { loadJax } from "../jax.js";
import type { Graph } from "../program/ir.js";
import type { Program } from "../program/program.js";
import { runGraph } from "../program/run.js";
import { splitGraph } from "../program/split.js";
import { Suspension, settle } from "../program/suspension.js";
import { currentContext } from "../program/trace-context.js";
import type { Signature } from "../program/traced-function.js";
import { type Structure, structureKey, unflatten } from "../tree/tree.js";
import { flattenArguments, runtimeArrays, signatureOf } from "./arguments.js";
import { guardedPromise } from "./guarded-promise.js";
import { type Inlined, inlineGraph } from "./inline.js";
import { callable, delivered, placementFor, type RunProgramOptions, runOptions } from "./program-call.js";
import type { ProgramSource } from "./source.js";

export interface TwoStep {
  readonly name: string;
  /** The whole: inputs of the primals, then the later ones; outputs at once, then the later ones. */
  readonly graph: Graph;
  readonly program: Program;
  /** How many outputs come at once. */
  readonly outputs: number;
  /** Of what is given at once, less the function. */
  readonly structure: Structure;
  /** Of the list of the later function's arguments, and its result. */
  readonly laterInputs: Structure;
  readonly laterOutputs: Structure;
}

export interface Later {
  (...args: unknown[]): unknown;
  /** Ends what is kept for it. Call it after the last use. */
  dispose(): void;
}

/** Builds, runs the first part, and gives its results with the function for the later part. */
export function twoStep(
  build: (signature: Signature, sowTag: string | undefined) => TwoStep,
  primals: readonly unknown[],
  name: string,
  options: RunProgramOptions,
  give: (value: unknown, later: Later) => unknown,
): unknown {
  const flat = flattenArguments(primals);
  const context = currentContext();
  if (context === undefined) return guardedPromise(outside(), name);
  try {
    const step = build(signatureOf(flat), context.options.sowTag);
    const { first, kept, later } = splitGraph(step.graph, flat.leaves.length, step.outputs);
    const results = inlineGraph(first, flat.leaves as readonly Inlined[], context);
    const captured = new Map(
      kept.map((value, index) => [value, ofInlined(results[step.outputs + index] as Inlined)] as const),
    );
    const pulled = laterFunction(step, { ...later, captured }, options);
    return give(unflatten(step.structure, results.slice(0, step.outputs)), pulled);
  } catch (error) {
    throw error instanceof Suspension ? context.interrupt(error) : error;
  }

  async function outside(): Promise<unknown> {
    await loadJax();
    const args = runtimeArrays(flat.leaves);
    try {
      const step = await settle(() => build(signatureOf(flat), undefined), options);
      const { first, kept, later } = splitGraph(step.graph, flat.leaves.length, step.outputs);
      const placement = placementFor(options, args);
      const { outputs } = await runGraph(first, args, { ...runOptions(options), placement });
      const given = await Promise.all(outputs.slice(0, step.outputs).map((output) => delivered(output, placement)));
      const captured = new Map(
        kept.map((value, index) => [value, outputs[step.outputs + index] as RuntimeArray] as const),
      );
      // The later part is of the same program, and so for the same device.
      const toDevice = placement.canUpload ? (array: HostArray) => placement.toDevice(array) : undefined;
      const running = { ...options, device: placement.device, toDevice };
      return give(unflatten(step.structure, given), laterFunction(step, { ...later, captured }, running));
    } catch (error) {
      await Promise.all(args.map((arg) => arg.dispose()));
      throw translated(error);
    }
  }
}

function ofInlined(value: Inlined): RuntimeArray {
  const [array] = runtimeArrays([value as object]);
  if (array === undefined) throw new Error("A value is missing");
  return array;
}

function laterFunction(step: TwoStep, graph: Graph, options: RunProgramOptions): Later {
  const source: ProgramSource = {
    name: step.name,
    build: (signature) => {
      const [expected, given] = [structureKey(step.laterInputs), structureKey(signature.structure)];
      if (expected !== given) {
        throw programError("INVALID_ARGUMENT", `${step.name} was given another tree of arrays than it belongs to`, {
          hint: "A tangent has the tree and shapes of its primal, a cotangent those of its output.",
        });
      }
      return {
        name: step.name,
        graph,
        inputStructure: signature.structure,
        outputStructure: step.laterOutputs,
        dispose: () => {},
      };
    },
  };
  return Object.assign(callable(source, { ...options, keepsPrograms: true }), {
    dispose: () => {
      step.program.dispose();
      for (const array of graph.captured.values()) void array.dispose();
    },
  });
}
