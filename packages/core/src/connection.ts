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
import { EXPORTS_DONE_HEADER, ExportAcknowledgements } from "./exports.js";
import { CALL_HEADER, GivenUpCalls } from "./given-up-calls.js";
import { checkOverHttp } from "./gpu-check.js";
import { type GpuTransportExplanation, GpuTransports } from "./gpu-transport.js";
import type { HttpClient, RequestBody } from "./http/http-client.js";
import { JsonBody } from "./json/writer.js";
import { Answer } from "./message/answer.js";
import { decodeMessage } from "./message/decode-message.js";
import { encodeMessage, toAbstract } from "./message/encode-message.js";
import type { MessageLease } from "./message/message-lease.js";
import { randomId } from "./random.js";
import type { Headers } from "./transport.js";
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

/** Names a client to servers of this project, and those to the client: the agreements are between the two. */
const PEER_HEADER = "tesseract-peer";

/** How long the closing of a connection waits for the server to take note. */
const FAREWELL_MS = 2_000;

/** One exchange with the server. */
interface Exchange {
  readonly route: string;
  readonly runId?: string | undefined;
  readonly body?: RequestBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether GPU arrays may be in the request or the answer. */
  readonly onDevice: boolean;
  /** Released when the server has answered; kept for later if that can't be known. */
  readonly lease?: MessageLease;
  readonly signal: AbortSignal;
}

/** An answer, whose exports the server keeps until they are acknowledged. */
interface Answered {
  readonly tree: unknown;
  readonly exports: readonly string[];
  readonly headers: Headers;
  /** Cleaning up after the request, which the answer began. */
  readonly released: Promise<void> | undefined;
}

export class Connection implements Backend {
  private readonly closing = new Closing();
  private readonly warned = new Set<TesseractWarning["code"]>();
  private readonly acknowledgements = new ExportAcknowledgements();
  private readonly givenUp = new GivenUpCalls();
  private readonly id = randomId();
  private readonly gpuTransports: GpuTransports;
  private readonly inFlight = new Set<Promise<unknown>>();
  private closed: Promise<void> | undefined;

  private constructor(
    private readonly http: HttpClient,
    private readonly options: ConnectionOptions,
    readonly openapiSchema: OpenApiSchema,
    readonly serverCapabilities: ServerCapabilities,
    readonly defaultEncoding: RequestedEncoding,
  ) {
    const { origin, transports, warn } = options;
    this.gpuTransports = new GpuTransports({
      origin,
      transports,
      capabilities: serverCapabilities,
      warn,
      check: (transport) =>
        checkOverHttp(transport, {
          probe: () => transports.probe(transport),
          encoding: { outputFormat: defaultEncoding.outputFormat, gpuTransport: transport.name },
          send: (body, headers, lease) =>
            this.tracked({}, "check_gpu_transport", (signal) =>
              this.send({ route: "check_gpu_transport", body, headers, onDevice: true, lease, signal }),
            ),
          acknowledge: (ids) => this.acknowledgements.acknowledge(ids),
        }),
    });
  }

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
      await Promise.all([http.close(), options.transports.close()]);
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

  resolveGpuTransport(requested: string | undefined, options: CallOptions): Promise<string> {
    return this.gpuTransports.resolve(requested, this.withTimeout(options));
  }

  explainGpuTransport(requested: string | undefined, options: CallOptions): Promise<GpuTransportExplanation> {
    return this.gpuTransports.explain(requested, this.withTimeout(options));
  }

  call(call: BackendCall): Promise<unknown> {
    return this.tracked(this.withTimeout(call), call.route, (signal) => this.exchange(call, signal));
  }

  close(): Promise<void> {
    this.closed ??= this.end();
    return this.closed;
  }

  private async end(): Promise<void> {
    const { transports } = this.options;
    this.closing.close(new TesseractError("CLOSED", "This Tesseract was closed"));
    await Promise.allSettled(this.inFlight);
    await transports.takeLeave();
    await this.farewell();
    await Promise.all([this.http.close(), transports.close()]);
  }

  /**
   * The server keeps what isn't acknowledged, and what was agreed on, until a time limit; so the last word is worth a
   * request. If it can't be said in time, the limit it is.
   */
  private async farewell(): Promise<void> {
    if (!this.acknowledgements.pending && Object.keys(this.options.transports.headers()).length === 0) return;
    const signal = AbortSignal.timeout(FAREWELL_MS);
    while (!signal.aborted) {
      try {
        await this.send({ route: "health", onDevice: false, signal });
      } catch {
        // Without a server there is nobody to tell.
        return;
      }
      if (!this.acknowledgements.pending) return;
    }
  }

  private withTimeout<T extends CallOptions>(call: T): CallOptions {
    return { signal: call.signal, timeout: call.timeout ?? this.options.timeout };
  }

  /** The caller may stop waiting before the work has cleaned up; the closing waits for that. */
  private tracked<T>(options: CallOptions, route: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const what = `The call of "${route}" at ${this.options.origin}`;
    return withDeadline(options, this.closing, what, (signal) => {
      const running = work(signal);
      this.inFlight.add(running);
      const done = (): void => {
        this.inFlight.delete(running);
      };
      running.then(done, done);
      return running;
    });
  }

  private async exchange(call: BackendCall, signal: AbortSignal): Promise<unknown> {
    const { transports, adapters } = this.options;
    const { route, runId } = call;
    if (call.payload === undefined) return (await this.send({ route, onDevice: false, signal })).tree;
    if (route === "abstract_eval") {
      const body = JsonBody.of(toAbstract(call.payload, adapters));
      return (await this.send({ route, body, onDevice: false, signal })).tree;
    }
    const encoding = fitToServer(
      { ...call.encoding, gpuTransport: call.encoding.gpuTransport ?? "none" },
      this.serverCapabilities,
    );
    const plan = await transports.plan(call.encoding, this.serverCapabilities);
    const request = await encodeMessage(call.payload, { ...plan, adapters, signal });
    const { body, lease } = request;
    const headers = { accept: acceptHeader(encoding), ...request.headers };
    const onDevice = plan.device !== undefined;
    // Cleaning up after the request needn't hold up the decoding of the answer.
    const answered = await this.send({ route, runId, body, headers, onDevice, lease, signal });
    const { tree, exports, released } = answered;
    try {
      if (!computing.has(route)) return tree;
      return await decodeMessage(tree, transports.list, { signal, headers: answered.headers });
    } finally {
      this.acknowledgements.acknowledge(exports);
      await released;
    }
  }

  private async send(exchange: Exchange): Promise<Answered> {
    const { options, acknowledgements, givenUp } = this;
    const { route, runId, body, onDevice, lease, signal } = exchange;
    const answer = new Answer({
      what: `"${route}" at ${options.origin}`,
      maxBytes: options.maxResponseBytes,
      openBuffer: (format) => options.transports.bufferSinkFor(format),
    });
    const query = runId === undefined ? "" : `?run_id=${encodedRunId(runId)}`;
    const id = onDevice ? randomId() : undefined;
    const done = acknowledgements.take();
    let exports: readonly string[] = [];
    let headers: Headers = () => undefined;
    let released: Promise<void> | undefined;
    let sent = false;
    let arrived = false;
    const began = givenUp.begin();
    try {
      signal.throwIfAborted();
      sent = true;
      await this.http.send({
        method: body === undefined ? "GET" : "POST",
        path: `${options.basePath}/${route}${query}`,
        headers: {
          ...options.headers,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...(onDevice || done.length > 0 ? { [EXPORTS_DONE_HEADER]: done.join(",") } : {}),
          ...(options.transports.devices().length === 0 ? {} : { [PEER_HEADER]: this.id }),
          ...(id === undefined ? {} : { [CALL_HEADER]: id }),
          ...options.transports.headers(),
          ...givenUp.headers(),
          ...exchange.headers,
        },
        ...(body === undefined ? {} : { body }),
        signal,
        respond: (head) => {
          // The head comes after the endpoint has run, so the request has been read.
          arrived = true;
          headers = (name) => head.header(name);
          exports = acknowledgements.named(headers);
          released = Promise.all([
            lease?.release(),
            givenUp.answered(began, headers, headers(PEER_HEADER) !== undefined),
            options.transports.receive(headers),
          ]).then(() => {});
          // It is awaited once the answer has been read; until then its failure has nobody to tell.
          released.catch(() => {});
          return answer.begin(head);
        },
      });
      return { tree: answer.end(), exports, headers, released };
    } catch (error) {
      acknowledgements.acknowledge(exports);
      if (!arrived) {
        acknowledgements.acknowledge(done);
        const unread = !sent || (error instanceof TesseractError && error.code === "CONNECTION_FAILED");
        if (unread) await lease?.release();
        else if (lease !== undefined && (await lease.giveUp())) {
          givenUp.add(id ?? randomId(), lease, body?.byteLength ?? 0);
        }
      }
      await released;
      throw error;
    }
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
