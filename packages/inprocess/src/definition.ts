/** What a Tesseract is: its schemas and its endpoints. */
import type { AbstractArray, CudaArray, HostArray } from "@tesseract-ts/core";
import type { z } from "zod";
import type { DerivedAbstractEval, DerivedGradient } from "./derive/derived.js";
import type { ArrayLike } from "./schema/array.js";
import type { ArraysOf, ByPathOf, DifferentiablePath } from "./schema/path-types.js";

/** What an endpoint may know of the call it answers. */
export interface EndpointContext {
  /** Aborted when the caller has given up, or the server stops. */
  readonly signal: AbortSignal;
  /** The name of the run: the caller's, or a fresh UUID. */
  readonly runId: string;
  /** The folder for files of this run, `run_<runId>`. It is made when this is first called. */
  readonly outputDirectory: () => Promise<string>;
  /** Writes a line to the run's log. */
  readonly log: (message: string) => void;
}

type MaybePromise<T> = T | Promise<T>;

/** What `gpuArrays: true` makes of arrays: they may live in a GPU's memory. */
export type OrOnDevice<T> = T extends HostArray
  ? T | CudaArray
  : T extends readonly unknown[] | Readonly<Record<string, unknown>>
    ? { readonly [K in keyof T]: OrOnDevice<T[K]> }
    : T;

/** What `abstractEval` gets: arrays as their shapes and dtypes. */
export type Abstract<T> = T extends HostArray
  ? AbstractArray
  : T extends readonly unknown[] | Readonly<Record<string, unknown>>
    ? { readonly [K in keyof T]: Abstract<T[K]> }
    : T;

/** What `abstractEval` returns: arrays as their shapes and dtypes, or as arrays, of which only these count. */
export type AbstractResult<T> =
  Extract<T, HostArray> extends never
    ? T extends readonly unknown[] | Readonly<Record<string, unknown>>
      ? { readonly [K in keyof T]: AbstractResult<T[K]> }
      : T
    : AbstractArray | Exclude<T, HostArray>;

type MaybeOnDevice<T, Gpu extends boolean> = Gpu extends true ? OrOnDevice<T> : T;

/** The schema of a Tesseract's inputs or outputs. */
export type ObjectSchema = z.ZodObject;

/** What an endpoint gets of a schema. */
export type InputsOf<I extends ObjectSchema, Gpu extends boolean = false> = MaybeOnDevice<z.output<I>, Gpu>;

/** What an endpoint returns for a schema: members with a default may be left out. */
export type ResultOf<O extends ObjectSchema> = z.input<O>;

export interface JacobianRequest<I extends ObjectSchema, O extends ObjectSchema, Gpu extends boolean = false> {
  readonly inputs: InputsOf<I, Gpu>;
  /** At least one path of a differentiable input. */
  readonly jacInputs: readonly DifferentiablePath<I>[];
  /** At least one path of a differentiable output. */
  readonly jacOutputs: readonly DifferentiablePath<O>[];
}

export interface JvpRequest<I extends ObjectSchema, O extends ObjectSchema, Gpu extends boolean = false> {
  readonly inputs: InputsOf<I, Gpu>;
  readonly jvpInputs: readonly DifferentiablePath<I>[];
  readonly jvpOutputs: readonly DifferentiablePath<O>[];
  /** For each of `jvpInputs` an array of that input's shape and dtype. */
  readonly tangents: MaybeOnDevice<ArraysOf<I>, Gpu>;
}

export interface VjpRequest<I extends ObjectSchema, O extends ObjectSchema, Gpu extends boolean = false> {
  readonly inputs: InputsOf<I, Gpu>;
  readonly vjpInputs: readonly DifferentiablePath<I>[];
  readonly vjpOutputs: readonly DifferentiablePath<O>[];
  /** For each of `vjpOutputs` an array of that output's shape and dtype. */
  readonly cotangents: MaybeOnDevice<ArraysOf<O>, Gpu>;
}

/** What `defineTesseract` takes. */
export interface TesseractOptions<I extends ObjectSchema, O extends ObjectSchema, Gpu extends boolean = false> {
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  readonly inputs: I;
  readonly outputs: O;
  /** Set it once the endpoints can take GPU arrays (CUDA arrays), which `gpuTransport: "cuda_ipc"` then gives them. */
  readonly gpuArrays?: Gpu;
  /** Where a server runs the endpoints: "worker" if they compute for long, so that it answers others meanwhile. */
  readonly runIn?: "event loop" | "worker";

  /** Runs the simulation. It must not change its inputs in place. */
  apply(inputs: InputsOf<I, Gpu>, context: EndpointContext): MaybePromise<ResultOf<O>>;
  /** For each of `jacOutputs`, for each of `jacInputs`, an array of the output's shape followed by the input's. */
  readonly jacobian?:
    | ((
        request: JacobianRequest<I, O, Gpu>,
        context: EndpointContext,
      ) => MaybePromise<ByPathOf<O, ByPathOf<I, ArrayLike>>>)
    | DerivedGradient;
  /** For each of `jvpOutputs` an array of that output's shape. */
  readonly jacobianVectorProduct?:
    | ((request: JvpRequest<I, O, Gpu>, context: EndpointContext) => MaybePromise<ByPathOf<O, ArrayLike>>)
    | DerivedGradient;
  /** For each of `vjpInputs` an array of that input's shape. */
  readonly vectorJacobianProduct?:
    | ((request: VjpRequest<I, O, Gpu>, context: EndpointContext) => MaybePromise<ByPathOf<I, ArrayLike>>)
    | DerivedGradient;
  /** The outputs' shapes and dtypes, from the inputs' alone. */
  readonly abstractEval?:
    | ((inputs: Abstract<z.output<I>>, context: EndpointContext) => MaybePromise<AbstractResult<z.output<O>>>)
    | DerivedAbstractEval;
}
