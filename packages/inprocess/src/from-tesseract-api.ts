/** A Tesseract in this process. */
import { type ArrayAdapter, Tesseract, TesseractError, type TesseractTypes, type Untyped } from "@tesseract-ts/core";
import { builtinAdapters } from "@tesseract-ts/core/adapters";
import type { z } from "zod";
import { InProcessBackend } from "./backend.js";
import { type DefinedTesseract, isTesseractDefinition, requireGpuArrays, type TesseractDefinition } from "./define.js";
import type { ObjectSchema } from "./definition.js";
import { loadTesseract } from "./load.js";
import { createRunner } from "./runner/runner.js";
import { Runs } from "./runs.js";

export interface FromTesseractApiOptions {
  /**
   * `none` (the default): endpoints get arrays in the host's memory; GPU arrays are copied by their `copyToHost()`.
   * `cuda_ipc`: they get the caller's own GPU buffers, for the length of the call. Nothing is copied, and no process
   * is involved, despite the name.
   */
  readonly gpuTransport?: "none" | "cuda_ipc";
  /**
   * Finds inputs in the host's memory that an endpoint changes in place: the call fails with INPUT_CHANGED, and the
   * caller's values are put back. It costs a copy of each input.
   */
  readonly development?: boolean;
  /** Milliseconds that each call may take; a call's own `timeout` wins. */
  readonly timeout?: number;
  /** Where folders of runs are made when an endpoint asks for one. If left out, a temporary folder that `close()` removes. */
  readonly outputPath?: string;
  /** Recognize the arrays of further libraries. */
  readonly adapters?: readonly ArrayAdapter[];
  /** Takes what endpoints log. Written to the console if left out. */
  readonly onLog?: (message: string, run: { readonly runId: string }) => void;
}

/** The types of a defined Tesseract, for core's `Tesseract`. */
export interface TypesOf<I extends ObjectSchema, O extends ObjectSchema> extends TesseractTypes {
  readonly inputs: z.input<I>;
  readonly outputs: z.output<O>;
}

/**
 * A Tesseract that runs in this process, with the interface of a connected one: from a definition, or from the path of a
 * module that exports one as its default.
 *
 * Endpoints get the caller's own arrays, not copies: neither side changes them during the call. Results are the caller's
 * own. The caller owns the Tesseract and closes it.
 *
 * @throws TesseractError LOAD_FAILED, INVALID_ARGUMENT. Calls reject with those of a connected Tesseract, and with
 *   ENDPOINT_FAILED, INVALID_OUTPUTS and INPUT_CHANGED.
 *
 * @example
 * await using scale = await fromTesseractApi("./scale.ts");
 * const { y } = await scale.apply({ x: new Float64Array([1, 2, 3]) });
 */
export async function fromTesseractApi<I extends ObjectSchema, O extends ObjectSchema>(
  definition: DefinedTesseract<I, O>,
  options?: FromTesseractApiOptions,
): Promise<Tesseract<TypesOf<I, O>>>;
export async function fromTesseractApi<T extends TesseractTypes = Untyped>(
  definition: string | TesseractDefinition,
  options?: FromTesseractApiOptions,
): Promise<Tesseract<T>>;
export async function fromTesseractApi(
  target: string | TesseractDefinition,
  options: FromTesseractApiOptions = {},
): Promise<Tesseract<TesseractTypes>> {
  const definition = typeof target === "string" ? await loadTesseract(target) : target;
  if (!isTesseractDefinition(definition)) {
    throw new TesseractError(
      "INVALID_ARGUMENT",
      "fromTesseractApi takes the path of a module, or what defineTesseract returns",
    );
  }
  const { gpuTransport = "none", development = false, timeout, outputPath, adapters = [], onLog } = options;
  if (gpuTransport !== "none" && gpuTransport !== "cuda_ipc") {
    throw new TesseractError(
      "INVALID_ARGUMENT",
      `There is no gpuTransport ${JSON.stringify(gpuTransport)} within a process`,
      {
        hint: 'Give "cuda_ipc", or "none".',
      },
    );
  }
  requireGpuArrays(definition, gpuTransport);
  const backend = new InProcessBackend(definition, createRunner(definition, { development }), new Runs(outputPath), {
    gpuTransport,
    adapters: [...builtinAdapters, ...adapters],
    timeout,
    log: (message, runId) => (onLog === undefined ? console.error(message) : onLog(message, { runId })),
  });
  return new Tesseract(backend);
}
