/** A Tesseract, wherever it runs. */

import type { HostArray } from "./arrays/host-array.js";
import type { Backend, CallOptions, EndpointRoute, OpenApiSchema, RunOptions } from "./backend.js";
import { mergeEncodings, type RequestedEncoding, type ServerCapabilities } from "./encoding.js";
import { type Endpoint, endpointOfRoute, routeOfEndpoint, type TestSpec, testPayload } from "./endpoints.js";
import { TesseractError } from "./errors.js";
import type { GpuTransportExplanation } from "./gpu-transport.js";
import type { AbstractArray, ArraysByPath, InputTree, TesseractTypes, Untyped } from "./tree.js";

// Browsers without `await using` lack the symbol; compilers then use this name for it.
const asyncDispose: typeof Symbol.asyncDispose =
  Symbol.asyncDispose ?? (Symbol.for("Symbol.asyncDispose") as typeof Symbol.asyncDispose);

/**
 * A simulation component with an endpoint `apply` and, if it has them, derivatives of it. What an integration does with
 * one never depends on where it runs. `fromUrl` and its siblings in other packages make one.
 *
 * Arrays in a result are the caller's own. Every call may throw a `TesseractError` with one of the codes TIMEOUT,
 * ABORTED, CLOSED, CONNECTION_FAILED, CONNECTION_LOST, ENDPOINT_NOT_FOUND, VALIDATION_FAILED, SERVER_ERROR,
 * MALFORMED_RESPONSE and RESPONSE_TOO_LARGE; a call with arrays also ENCODING_UNAVAILABLE, TRANSPORT_MISSING,
 * TRANSPORT_UNUSABLE, INVALID_TREE, INVALID_ARRAY, UNSUPPORTED_DTYPE and DECODE_FAILED.
 */
export class Tesseract<T extends TesseractTypes = Untyped> implements AsyncDisposable {
  private endpoints: readonly Endpoint[] | undefined;

  /** For those who implement a {@link Backend}. */
  constructor(
    private readonly backend: Backend,
    private readonly requested: RequestedEncoding = {},
    private readonly isView = false,
  ) {}

  /** The server's OpenAPI document. */
  get openapiSchema(): OpenApiSchema {
    return this.backend.openapiSchema;
  }

  /** The endpoints that this Tesseract has. */
  get availableEndpoints(): readonly Endpoint[] {
    this.endpoints ??= Object.keys(this.openapiSchema.paths ?? {}).flatMap(
      (path) => endpointOfRoute(path.replace(/^\//, "")) ?? [],
    );
    return this.endpoints;
  }

  /** The encodings that the server advertises; undefined for a Tesseract in this process. */
  get serverCapabilities(): ServerCapabilities | undefined {
    return this.backend.serverCapabilities;
  }

  /** What calls ask for: what this Tesseract was created with, under what `withEncoding` changed. */
  get currentEncoding(): RequestedEncoding {
    return mergeEncodings(this.backend.defaultEncoding, this.requested);
  }

  /**
   * A view of this Tesseract that asks for another encoding; options left out keep this one's. It shares the connection
   * and owns nothing: closing it does nothing, and it can be used until this Tesseract is closed.
   *
   * @throws TesseractError ENCODING_UNAVAILABLE, RUNTIME_TOO_OLD, TRANSPORT_MISSING
   *
   * @example
   * const compressed = tess.withEncoding({ compression: "lz4" });
   */
  withEncoding(encoding: RequestedEncoding): Tesseract<T> {
    this.backend.checkEncoding(encoding);
    return new Tesseract<T>(this.backend, mergeEncodings(this.requested, encoding), true);
  }

  /**
   * The GPU transport that calls should ask for: `await tess.resolveGpuTransport()` tells an integration how to keep GPU
   * arrays on the device wherever that works. It is for calls that have GPU arrays; others need not ask.
   *
   * A transport that this Tesseract asks for (by `withEncoding`, or at its creation) is returned once it is known to
   * work. Otherwise it is the first of the client's transports that the server offers and that works, and `none`, with
   * one warning, if none does. Whether one works is found out once per connection, by exchanging a small GPU array.
   *
   * @throws TesseractError ENCODING_UNAVAILABLE or RUNTIME_TOO_OLD if the server doesn't offer what is asked for,
   *   TRANSPORT_UNUSABLE if that doesn't work from this process; what a call may throw if the server can't be asked
   *
   * @example
   * const gpuTransport = await tess.resolveGpuTransport();
   * const { y } = await tess.withEncoding({ gpuTransport }).apply({ x });
   */
  async resolveGpuTransport(options: CallOptions = {}): Promise<string> {
    return this.backend.resolveGpuTransport(this.currentEncoding.gpuTransport, options);
  }

  /** What was asked for and offered, what each check said, and what to do about it, as data. */
  async explainGpuTransport(options: CallOptions = {}): Promise<GpuTransportExplanation> {
    return this.backend.explainGpuTransport(this.currentEncoding.gpuTransport, options);
  }

  /** Runs the simulation. */
  async apply(inputs: T["inputs"], options: RunOptions = {}): Promise<T["outputs"]> {
    return (await this.run("apply", { inputs }, options)) as T["outputs"];
  }

  /**
   * The derivatives of some outputs with respect to some inputs.
   *
   * @param jacInputs paths of differentiable inputs, such as `params.{rate}` or `layers.[0].weights`
   * @param jacOutputs paths of differentiable outputs
   * @returns for each output, for each input, an array of the output's shape followed by the input's
   */
  async jacobian(
    inputs: T["inputs"],
    jacInputs: readonly string[],
    jacOutputs: readonly string[],
    options: RunOptions = {},
  ): Promise<ArraysByPath<ArraysByPath<HostArray>>> {
    const payload = { inputs, jac_inputs: jacInputs, jac_outputs: jacOutputs };
    return (await this.run("jacobian", payload, options)) as ArraysByPath<ArraysByPath<HostArray>>;
  }

  /**
   * How some outputs change when some inputs change along a tangent vector.
   *
   * @param tangentVector for each of `jvpInputs` an array of that input's shape
   * @returns for each of `jvpOutputs` an array of that output's shape
   */
  async jacobianVectorProduct(
    inputs: T["inputs"],
    jvpInputs: readonly string[],
    jvpOutputs: readonly string[],
    tangentVector: ArraysByPath,
    options: RunOptions = {},
  ): Promise<ArraysByPath<HostArray>> {
    const payload = { inputs, jvp_inputs: jvpInputs, jvp_outputs: jvpOutputs, tangent_vector: tangentVector };
    return (await this.run("jacobianVectorProduct", payload, options)) as ArraysByPath<HostArray>;
  }

  /**
   * The gradient of some outputs, weighted by a cotangent vector, with respect to some inputs.
   *
   * @param cotangentVector for each of `vjpOutputs` an array of that output's shape
   * @returns for each of `vjpInputs` an array of that input's shape
   */
  async vectorJacobianProduct(
    inputs: T["inputs"],
    vjpInputs: readonly string[],
    vjpOutputs: readonly string[],
    cotangentVector: ArraysByPath,
    options: RunOptions = {},
  ): Promise<ArraysByPath<HostArray>> {
    const payload = { inputs, vjp_inputs: vjpInputs, vjp_outputs: vjpOutputs, cotangent_vector: cotangentVector };
    return (await this.run("vectorJacobianProduct", payload, options)) as ArraysByPath<HostArray>;
  }

  /**
   * The shapes and dtypes of the outputs, without computing them.
   *
   * @param inputs with arrays as `{ shape, dtype }`, or as arrays, of which only these two are sent
   */
  async abstractEval(inputs: InputTree, options: CallOptions = {}): Promise<Record<string, AbstractArray>> {
    return (await this.run("abstractEval", { inputs }, options)) as Record<string, AbstractArray>;
  }

  /** Whether the server answers: `{ status: "ok" }`. The reference answers nothing while an endpoint runs. */
  async health(options: CallOptions = {}): Promise<{ readonly status: string }> {
    return (await this.backend.call({ ...options, route: "health", encoding: this.currentEncoding })) as {
      status: string;
    };
  }

  /**
   * Runs a regression test on the server, which must be in debug mode.
   *
   * @throws TesseractError REGRESSION_FAILED if the outputs differ from the expected ones, REGRESSION_ERROR if the test
   *   couldn't be run, ENDPOINT_NOT_FOUND outside debug mode
   */
  async test(spec: TestSpec, options: CallOptions = {}): Promise<void> {
    const result = (await this.run("test", testPayload(spec), options)) as {
      status?: unknown;
      message?: unknown;
    } | null;
    if (result?.status === "passed") return;
    const code = result?.status === "failed" ? "REGRESSION_FAILED" : "REGRESSION_ERROR";
    const message = result?.message;
    throw new TesseractError(code, typeof message === "string" ? message : "The server gave no reason");
  }

  /** Ends the connection; calls in flight fail with CLOSED. Of a view, it does nothing. */
  async close(): Promise<void> {
    if (!this.isView) await this.backend.close();
  }

  [asyncDispose](): Promise<void> {
    return this.close();
  }

  private run(
    endpoint: Endpoint,
    payload: { readonly [member: string]: unknown },
    options: RunOptions,
  ): Promise<unknown> {
    const route: EndpointRoute = routeOfEndpoint(endpoint);
    if (!this.availableEndpoints.includes(endpoint)) {
      const hint =
        endpoint === "test"
          ? "Serve it in debug mode (TESSERACT_DEBUG=1)."
          : `It has ${this.availableEndpoints.join(", ")}.`;
      return Promise.reject(
        new TesseractError("ENDPOINT_NOT_FOUND", `This Tesseract has no endpoint "${endpoint}"`, { hint }),
      );
    }
    return this.backend.call({ ...options, route, payload, encoding: this.currentEncoding });
  }
}
