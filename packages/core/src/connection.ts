/** A Tesseract reached over HTTP. */
import { createHttpClient } from "#http";
import type { ArrayAdapter } from "./adapters/adapter.js";
import type { Backend, BackendCall, CallOptions, OpenApiSchema } from "./backend.js";
import { Closing } from "./closing.js";
import { withDeadline } from "./deadline.js";
import {
  acceptHeader,
  capabilitiesOf,
  fitToServer,
  type RequestedEncoding,
  type ServerCapabilities,
} from "./encoding.js";
import { TesseractError, type TesseractWarning } from "./errors.js";
import type { HttpClient, RequestBody } from "./http/http-client.js";
import { JsonBody } from "./json/writer.js";
import { Answer } from "./message/answer.js";
import { decodeMessage } from "./message/decode-message.js";
import { encodeMessage, toAbstract } from "./message/encode-message.js";
import type { TransportSet } from "./transport-set.js";

export interface ConnectionOptions {
  readonly origin: string;
  /** Put before each route, without a slash at its end. */
  readonly basePath: string;
  readonly transports: TransportSet;
  readonly adapters: readonly ArrayAdapter[];
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly timeout: number | undefined;
  readonly maxResponseBytes: number;
  readonly warn: (warning: TesseractWarning) => void;
}

const computing = new Set(["apply", "jacobian", "jacobian_vector_product", "vector_jacobian_product"]);

export class Connection implements Backend {
  private readonly closing = new Closing();
  private readonly warned = new Set<TesseractWarning["code"]>();

  private constructor(
    private readonly http: HttpClient,
    private readonly options: ConnectionOptions,
    readonly openapiSchema: OpenApiSchema,
    readonly serverCapabilities: ServerCapabilities,
    readonly defaultEncoding: RequestedEncoding,
  ) {}

  /**
   * Asks the server what it offers.
   *
   * @throws TesseractError CONNECTION_FAILED, MALFORMED_RESPONSE, ENCODING_UNAVAILABLE, TIMEOUT, ABORTED
   */
  static async open(options: ConnectionOptions, call: CallOptions): Promise<Connection> {
    const http = createHttpClient({ origin: options.origin, connections: options.connections });
    try {
      const deadline = { timeout: options.timeout, ...call };
      const schema = await withDeadline(deadline, new Closing(), `The connection to ${options.origin}`, (signal) =>
        fetchSchema(http, options, signal),
      );
      const capabilities = capabilitiesOf(schema);
      const outputFormat = await options.transports.preferredFormat(capabilities);
      return new Connection(http, options, schema, capabilities, { outputFormat });
    } catch (error) {
      await http.close();
      throw error;
    }
  }

  checkEncoding(requested: RequestedEncoding): void {
    fitToServer(requested, this.serverCapabilities);
    this.options.transports.check(requested);
    if (requested.compression !== undefined && this.serverCapabilities.compressions === undefined) {
      this.warnOnce({
        code: "COMPRESSION_NOT_ADVERTISED",
        message:
          `The Tesseract at ${this.options.origin} doesn't say which compressions it knows. ` +
          "Runtimes before 1.14 ignore a requested one and use what they were configured with.",
      });
    }
  }

  call(call: BackendCall): Promise<unknown> {
    const what = `The call of "${call.route}" at ${this.options.origin}`;
    const deadline = { signal: call.signal, timeout: call.timeout ?? this.options.timeout };
    return withDeadline(deadline, this.closing, what, (signal) => this.exchange(call, signal));
  }

  async close(): Promise<void> {
    this.closing.close(new TesseractError("CLOSED", "This Tesseract was closed"));
    await this.http.close();
  }

  private async exchange(call: BackendCall, signal: AbortSignal): Promise<unknown> {
    const { transports, adapters } = this.options;
    if (call.payload === undefined) return this.send(call, undefined, {}, signal);
    if (call.route === "abstract_eval") {
      return this.send(call, JsonBody.of(toAbstract(call.payload, adapters)), {}, signal);
    }
    const encoding = fitToServer(
      { ...call.encoding, gpuTransport: call.encoding.gpuTransport ?? "none" },
      this.serverCapabilities,
    );
    const plan = await transports.plan(call.encoding, this.serverCapabilities);
    const { body, lease } = await encodeMessage(call.payload, { ...plan, adapters, signal });
    let released: Promise<void> | undefined;
    try {
      const tree = await this.send(call, body, { accept: acceptHeader(encoding) }, signal);
      // The server has read the request; cleaning up after it needn't hold up the decoding.
      released = lease.release();
      return computing.has(call.route) ? await decodeMessage(tree, transports.list, signal) : tree;
    } finally {
      await (released ?? lease.release());
    }
  }

  private async send(
    call: BackendCall,
    body: RequestBody | undefined,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { options } = this;
    const answer = new Answer({
      what: `"${call.route}" at ${options.origin}`,
      maxBytes: options.maxResponseBytes,
      openBuffer: (format) => options.transports.bufferSinkFor(format),
    });
    const query = call.runId === undefined ? "" : `?run_id=${encodedRunId(call.runId)}`;
    await this.http.send({
      method: body === undefined ? "GET" : "POST",
      path: `${options.basePath}/${call.route}${query}`,
      headers: {
        ...options.headers,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      signal,
      respond: (head) => answer.begin(head),
    });
    return answer.end();
  }

  private warnOnce(warning: TesseractWarning): void {
    if (this.warned.has(warning.code)) return;
    this.warned.add(warning.code);
    this.options.warn(warning);
  }
}

function encodedRunId(runId: string): string {
  try {
    return encodeURIComponent(runId);
  } catch (error) {
    throw new TesseractError("INVALID_ARGUMENT", "A runId has half of a surrogate pair", { cause: error });
  }
}

async function fetchSchema(http: HttpClient, options: ConnectionOptions, signal: AbortSignal): Promise<OpenApiSchema> {
  const path = `${options.basePath}/openapi.json`;
  const answer = new Answer({ what: `${path} at ${options.origin}`, maxBytes: options.maxResponseBytes });
  await http.send({ method: "GET", path, headers: options.headers, signal, respond: (head) => answer.begin(head) });
  const schema = answer.end();
  if (typeof schema === "object" && schema !== null && "paths" in schema && typeof schema.paths === "object") {
    return schema as OpenApiSchema;
  }
  throw new TesseractError("MALFORMED_RESPONSE", `${path} at ${options.origin} is no OpenAPI document`, {
    hint: "Is it a Tesseract that is being served there?",
  });
}
