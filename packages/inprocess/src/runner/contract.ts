/** What a runner is asked and what it answers: the ground that a backend in this process and a server stand on. */
import type { CudaArray, EndpointRoute, HostArray, OpenApiSchema } from "@tesseract-ts/core";
import type { EndpointContext } from "../definition.js";
import type { UndecodableArray } from "./undecodable.js";

/** One place at which a request doesn't fit, as the reference spells it (an item of FastAPI's `detail`). */
export interface RequestIssue {
  readonly type: string;
  /** From the body's root down: `["inputs", "x"]`. A server puts "body" before it. */
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
  readonly ctx?: { readonly [name: string]: unknown };
}

/** The routes that a runner runs; `health` is its host's own. */
export type RunnerRoute = Exclude<EndpointRoute, "health">;

export interface RunnerCall {
  readonly route: RunnerRoute;
  /**
   * The body. Where the schema wants an array: a `HostArray` or a CUDA array (that have been decoded), a typed array,
   * numbers in lists, or an array encoded as `json`, which the runner reads itself. For `abstract_eval` encoded arrays
   * stay as they are.
   */
  readonly payload: unknown;
  readonly context: EndpointContext;
  /**
   * Whether the arrays belong to the call, as those that were received by a server do. Otherwise they are the caller's:
   * CUDA arrays are given on as read-only, and results that share their memory are copied.
   */
  readonly ownsInputs: boolean;
}

export type RunnerAnswer =
  /** Plain values, `HostArray`s and CUDA arrays, as the output schema has them. */
  | { readonly kind: "answered"; readonly outputs: unknown }
  /** HTTP 422. */
  | { readonly kind: "refused"; readonly issues: readonly RequestIssue[] };

/** An encoded array of a payload: the schema wants an array there, and admits its shape and dtype. */
export interface EncodedPlace {
  /** From the body's root down. */
  readonly loc: readonly (string | number)[];
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly data: { readonly encoding: string; readonly buffer: unknown; readonly compression?: "lz4" };
  /** Puts the decoded array in the payload, in this one's place. */
  put(array: HostArray | CudaArray | UndecodableArray): void;
}

/** What an OpenAPI document says beside the schemas. */
export interface OpenApiOptions {
  /** Whether the endpoint `test` is there. */
  readonly test?: boolean;
  readonly outputFormats?: readonly string[];
  readonly gpuTransports?: readonly string[];
  readonly compressions?: readonly string[];
}

/** Runs a Tesseract's endpoints: checks requests, calls, checks results. It keeps no state of a call. */
export interface Runner {
  /** Those that the Tesseract has, `test` included. */
  readonly routes: readonly RunnerRoute[];
  openapi(options?: OpenApiOptions): OpenApiSchema;
  /**
   * The arrays of a freshly read body that are to be decoded before `run`, in any order. Those that the schema doesn't
   * admit aren't among them, so nothing is decoded for a request that is going to be refused for its shape or dtype.
   */
  encodedArrays(route: RunnerRoute, payload: unknown): readonly EncodedPlace[];
  /** What is wrong with a request, whose endpoint isn't called; nothing if it could be. */
  check(route: RunnerRoute, payload: unknown): readonly RequestIssue[];
  /**
   * @throws TesseractError ENDPOINT_FAILED (its cause is what the endpoint threw), INVALID_OUTPUTS, INPUT_CHANGED;
   *   a server answers each with HTTP 500. ENDPOINT_NOT_FOUND for a route that isn't among `routes`.
   */
  run(call: RunnerCall): Promise<RunnerAnswer>;
}

export interface RunnerOptions {
  /**
   * Finds host inputs that an endpoint has changed in place: the call fails with INPUT_CHANGED, and the caller's values
   * are put back. It costs a copy of each input.
   */
  readonly development?: boolean;
  /** Transports whose arrays are let through to {@link Runner.encodedArrays}, beside the reference's own encodings. */
  readonly transports?: readonly KnownTransport[];
}

/** What is known of a transport by its arrays alone: any `Transport` is one. */
export interface KnownTransport {
  readonly name: string;
  readonly carries: "host" | "device";
  readonly aliases?: readonly string[];
}
