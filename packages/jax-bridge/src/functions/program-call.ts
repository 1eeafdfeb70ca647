/** Calls a program: outside programs asynchronously, within one as a part of it. */
import type { RunOptions } from "@tesseract-ts/core";
import { isJaxDType } from "../arrays/aval.js";
import type { RuntimeArray } from "../arrays/runtime-array.js";
import { programError, translated } from "../errors.js";
import { loadJax } from "../jax.js";
import type { BuildOptions, Program } from "../program/program.js";
import { runGraph } from "../program/run.js";
import { Suspension, settle } from "../program/suspension.js";
import { currentContext, type TraceContext } from "../program/trace-context.js";
import type { Signature } from "../program/traced-function.js";
import { Placement } from "../tesseract/device.js";
import { checkDevice, type Device, type ToDevice } from "../tesseract/options.js";
import { unflatten } from "../tree/tree.js";
import { type FlatArguments, flattenArguments, runtimeArrays, signatureOf } from "./arguments.js";
import { guardedPromise } from "./guarded-promise.js";
import { type Inlined, inlineGraph } from "./inline.js";
import { type ProgramSource, setSource } from "./source.js";

/** Options of running a program. Of transformations within one another, those of the outermost count. */
export interface RunProgramOptions extends RunOptions {
  /** Where the program's arrays are meant to be. If left out, `cuda` if an argument is a CUDA array. */
  readonly device?: Device | undefined;
  /** Brings an output that went through the host to the device, such as `DeviceArray.fromHost`. */
  readonly toDevice?: ToDevice | undefined;
}

export interface CallableOptions extends RunProgramOptions {
  readonly staticArgnums?: readonly number[] | undefined;
  /** Whether programs belong to who builds them, who ends them when they aren't needed any more. */
  readonly keepsPrograms?: boolean;
}

/** A function that builds and runs the source's programs. */
export function callable(source: ProgramSource, options: CallableOptions = {}): (...args: unknown[]) => unknown {
  checkDevice(options.device);
  const call = (...args: unknown[]): unknown => {
    const context = currentContext();
    const flat = flattenArguments(args, options.staticArgnums);
    return context === undefined
      ? guardedPromise(callOutside(source, flat, options), source.name)
      : callWithin(source, flat, context);
  };
  Object.defineProperty(call, "name", { value: source.name });
  setSource(call, source);
  return call;
}

export async function callOutside(
  source: ProgramSource,
  flat: FlatArguments,
  options: CallableOptions,
): Promise<unknown> {
  await loadJax();
  const args = runtimeArrays(flat.leaves);
  let program: Program | undefined;
  try {
    program = await buildSettled(source, signatureOf(flat), { compile: false, sowTag: undefined }, options);
    const placement = placementFor(options, args);
    const { outputs } = await runGraph(program.graph, args, { ...runOptions(options), placement });
    return unflatten(program.outputStructure, await Promise.all(outputs.map((output) => delivered(output, placement))));
  } catch (error) {
    await Promise.all(args.map((arg) => arg.dispose()));
    throw translated(error);
  } finally {
    if (options.keepsPrograms !== true) program?.dispose();
  }
}

export const buildSettled = (
  source: ProgramSource,
  signature: Signature,
  options: BuildOptions,
  { signal, timeout }: RunOptions = {},
): Promise<Program> => settle(() => source.build(signature, options), { signal, timeout });

export const runOptions = ({ signal, timeout, runId }: RunOptions): RunOptions => ({ signal, timeout, runId });

/** Those of a transformation's options that are about running. */
export const runProgramOptions = ({ device, toDevice, ...options }: RunProgramOptions): RunProgramOptions => ({
  ...runOptions(options),
  device,
  toDevice,
});

export function placementFor({ device, toDevice }: RunProgramOptions, args: readonly RuntimeArray[]): Placement {
  const example = args.find((arg) => arg.cuda !== undefined)?.cuda;
  return new Placement(device ?? (example === undefined ? "cpu" : "cuda"), toDevice, example);
}

/** An output as the caller gets it: a jax-js array, or a CUDA array. Ends what it was. */
export async function delivered(output: RuntimeArray, placement: Placement): Promise<unknown> {
  if (placement.device === "cuda") {
    if (output.cuda !== undefined) return output.cuda;
    try {
      return await placement.toDevice(await output.host());
    } finally {
      await output.dispose();
    }
  }
  try {
    // What jax-js has no dtype for stays in the host's memory.
    return isJaxDType(output.aval.dtype) ? await output.jax() : await output.host();
  } finally {
    await output.dispose();
  }
}

function callWithin(source: ProgramSource, flat: FlatArguments, context: TraceContext): unknown {
  try {
    const program = source.build(signatureOf(flat), { compile: false, sowTag: context.options.sowTag });
    const outputs = inlineGraph(program.graph, flat.leaves as readonly Inlined[], context);
    program.dispose();
    return unflatten(program.outputStructure, outputs);
  } catch (error) {
    throw error instanceof Suspension ? context.interrupt(error) : error;
  }
}

/** The leaves of arguments that a transformation differentiates with respect to. */
export function argumentRanges(
  signature: Signature,
  counts: readonly number[],
  argnums: readonly number[],
): readonly (readonly number[])[] {
  return argnums.map((argnum) => {
    const index = argnum < 0 ? counts.length + argnum : argnum;
    const count = counts[index];
    if (!Number.isInteger(argnum) || count === undefined) {
      throw programError("INVALID_ARGUMENT", `argnums has ${argnum}, but there are ${counts.length} arguments`);
    }
    const first = counts.slice(0, index).reduce((sum, each) => sum + each, 0);
    return Array.from({ length: count }, (_, position) => first + position).filter(
      (position) => position < signature.avals.length,
    );
  });
}
