/** What a `Tesseract` stands on: a connection to a server, or a Tesseract in this process. */

import type { RequestedEncoding, ServerCapabilities } from "./encoding.js";
import type { GpuTransportExplanation } from "./gpu-transport.js";

/** Ends a call early. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds from the call to its result. None if left out, unless the Tesseract was given one. */
  readonly timeout?: number | undefined;
}

/** Options of the endpoints that compute. */
export interface RunOptions extends CallOptions {
  /** Names the run: the server keeps its files and logs in `run_<runId>`. */
  readonly runId?: string | undefined;
}

/** The endpoints by their names on the wire. */
export type EndpointRoute =
  | "apply"
  | "jacobian"
  | "jacobian_vector_product"
  | "vector_jacobian_product"
  | "abstract_eval"
  | "health"
  | "test";

export interface BackendCall extends RunOptions {
  readonly route: EndpointRoute;
  /** The request's members, with arrays as they are. Undefined for `health`. */
  readonly payload?: { readonly [member: string]: unknown };
  readonly encoding: RequestedEncoding;
}

export type OpenApiSchema = { readonly [member: string]: unknown };

export interface Backend {
  readonly openapiSchema: OpenApiSchema;
  /** Undefined for a Tesseract in this process, which encodes nothing. */
  readonly serverCapabilities: ServerCapabilities | undefined;
  /** What calls ask for that ask for nothing. */
  readonly defaultEncoding: RequestedEncoding;
  /** @throws TesseractError ENCODING_UNAVAILABLE, RUNTIME_TOO_OLD, TRANSPORT_MISSING */
  checkEncoding(requested: RequestedEncoding): void;
  /**
   * How GPU arrays can go: a transport's name, or `none`.
   *
   * @param requested the `gpuTransport` that is asked for, if any
   * @throws TesseractError ENCODING_UNAVAILABLE, RUNTIME_TOO_OLD, TRANSPORT_MISSING, TRANSPORT_UNUSABLE
   */
  resolveGpuTransport(requested: string | undefined, options: CallOptions): Promise<string>;
  explainGpuTransport(requested: string | undefined, options: CallOptions): Promise<GpuTransportExplanation>;
  /** The answer's tree, with its arrays decoded. */
  call(call: BackendCall): Promise<unknown>;
  close(): Promise<void>;
}
