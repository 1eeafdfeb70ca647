/** A Tesseract reached over HTTP. */
import { createHttpClient } from "#http";
import type { Backend, BackendCall, CallOptions, OpenApiSchema } from "./backend.js";
import { Closing } from "./closing.js";
import { withDeadline } from "./deadline.js";
import {
  acceptHeader,
  capabilitiesOf,
  fitToServer,
  mayLease,
  type RequestedEncoding,
  type ServerCapabilities,
} from "./encoding.js";
import { TesseractError, type TesseractWarning } from "./errors.js";
import { EXPORTS_DONE_HEADER, ExportAcknowledgements } from "./exports.js";
import { CALL_HEADER, GivenUpCalls, PEER_HEADER } from "./given-up-calls.js";
import type { GpuTransportExplanation, GpuTransports } from "./gpu-transport.js";
import type { HttpClient, RequestBody } from "./http/http-client.js";
import { JsonBody } from "./json/writer.js";
import { loadPart } from "./load-part.js";
import { Answer } from "./message/answer.js";
import type { ArrayFinder } from "./message/array-finder.js";
import { checkEncodedArray, decodeMessage, isEncodedArray } from "./message/decode-message.js";
import { encodeMessage, toAbstract } from "./message/encode-message.js";
import { MessageLease } from "./message/message-lease.js";
import { randomId } from "./random.js";
import type { DeviceTransport, EncodedMessage, Headers } from "./transport.js";
import type { TransportSet } from "./transport-set.js";

export interface ConnectionOptions {
  readonly origin: string;
  /** Put before each route, without a slash at its end. */
  readonly basePath: string;
  readonly transports: TransportSet;
  readonly arrays: ArrayFinder;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly timeout: number | undefined;
  readonly maxResponseBytes: number;
  readonly warn: (warning: TesseractWarning) => void;
}

const computing = new Set(["apply", "jacobian", "jacobian_vector_product", "vector_jacobian_product"]);

/** How long the closing of a connection waits for the server to take note. */
const FAREWELL_MS = 2_000;

/** One exchange with the server. */
interface Exchange {
  readonly route: string;
  readonly runId?: string | undefined;
  readonly body?: RequestBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether either side may keep something for the other to read, such as GPU memory: then the call has a name. */
  readonly leased: boolean;
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
  private readonly id = randomId();
  private gpuTransports: Promise<GpuTransports> | undefined;
  private readonly inFlight = new Set<Promise<unknown>>();
  private closed: Promise<void> | undefined;

  private constructor(
    private readonly http: HttpClient,
    private readonly options: ConnectionOptions,
    readonly openapiSchema: OpenApiSchema,
    readonly serverCapabilities: ServerCapabilities,
    readonly defaultEncoding: RequestedEncoding,
    private readonly givenUp: GivenUpCalls,
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
      const givenUp = new GivenUpCalls();
      const schema = await withDeadline(deadline, new Closing(), `The connection to ${options.origin}`, (signal) =>
        fetchSchema(http, options, givenUp, signal),
      );
      const capabilities = capabilitiesOf(schema);
      const outputFormat = await options.transports.preferredFormat(capabilities);
      return new Connection(http, options, schema, capabilities, { outputFormat }, givenUp);
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

  async resolveGpuTransport(requested: string | undefined, options: CallOptions): Promise<string> {
    const hasAny = this.options.transports.devices().length > 0;
    if (requested === "none" || (requested === undefined && !hasAny)) return "none";
    return (await this.knownGpuTransports()).resolve(requested, this.withTimeout(options));
  }

  async explainGpuTransport(requested: string | undefined, options: CallOptions): Promise<GpuTransportExplanation> {
    return (await this.knownGpuTransports()).explain(requested, this.withTimeout(options));
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
    const said = Object.keys(this.options.transports.headers()).length > 0;
    if (!said && !this.acknowledgements.pending && !this.givenUp.isAsked) return;
    const signal = AbortSignal.timeout(FAREWELL_MS);
    while (!signal.aborted) {
      try {
        await this.send({ route: "health", leased: false, signal });
      } catch {
        // Without a server there is nobody to tell.
        return;
      }
      if (!this.acknowledgements.pending) return;
    }
  }

  /** Which GPU transports work is found out once for the connection. */
  private knownGpuTransports(): Promise<GpuTransports> {
    if (this.gpuTransports === undefined) {
      const { origin, transports, warn } = this.options;
      this.gpuTransports = loadPart(() => import("#gpu-check")).then(({ gpuTransportsOver }) =>
        gpuTransportsOver({
          origin,
          transports,
          capabilities: this.serverCapabilities,
          warn,
          checkEncoding: (requested) => this.checkEncoding(requested),
          within: (call, what, work) => withDeadline(call, new Closing(), what, () => work),
          send: (transport, message, expected) => this.sendCheck(transport, message, expected),
          received: (value, path) =>
            typeof value === "object" && value !== null && isEncodedArray(value)
              ? checkEncodedArray(value, path)
              : undefined,
          acknowledge: (ids) => this.acknowledgements.acknowledge(ids),
        }),
      );
      this.gpuTransports.catch(() => {
        this.gpuTransports = undefined;
      });
    }
    return this.gpuTransports;
  }

  private sendCheck({ name }: DeviceTransport, message: EncodedMessage, expected: string): Promise<Answered> {
    const route = "check_gpu_transport";
    const lease = new MessageLease();
    if (message.lease !== undefined) lease.add(message.lease);
    const { outputFormat } = this.defaultEncoding;
    const headers = { accept: acceptHeader({ outputFormat, gpuTransport: name }), ...message.headers };
    const body = JsonBody.of({ gpu_transport: name, array: message.arrays[0], expected });
    return this.tracked({}, route, (signal) => this.send({ route, body, headers, leased: true, lease, signal }));
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
    const { transports, arrays } = this.options;
    const { route, runId, payload } = call;
    if (payload === undefined) return (await this.send({ route, leased: false, signal })).tree;
    if (route === "abstract_eval") {
      const body = JsonBody.of(await arrays.use((find) => toAbstract(payload, find)));
      return (await this.send({ route, body, leased: false, signal })).tree;
    }
    const encoding = fitToServer(
      { ...call.encoding, gpuTransport: call.encoding.gpuTransport ?? "none" },
      this.serverCapabilities,
    );
    const plan = await transports.plan(call.encoding, this.serverCapabilities);
    const request = await arrays.use((find) => encodeMessage(payload, { ...plan, find, signal }));
    const { body, lease } = request;
    const headers = { accept: acceptHeader(encoding), ...request.headers };
    const leased = plan.device !== undefined || mayLease(encoding.outputFormat);
    // Cleaning up after the request needn't hold up the decoding of the answer.
    const answered = await this.send({ route, runId, body, headers, leased, lease, signal });
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
    const { route, runId, body, leased, lease, signal } = exchange;
    const answer = new Answer({
      what: `"${route}" at ${options.origin}`,
      maxBytes: options.maxResponseBytes,
      openBuffer: (format) => options.transports.bufferSinkFor(format),
    });
    const query = runId === undefined ? "" : `?run_id=${encodedRunId(runId)}`;
    const id = leased ? randomId() : undefined;
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
          ...(leased || done.length > 0 ? { [EXPORTS_DONE_HEADER]: done.join(",") } : {}),
          ...(options.transports.mayLease ? { [PEER_HEADER]: this.id } : {}),
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
            givenUp.answered(began, headers),
            options.transports.receive(headers),
          ]).then(() => {});
          // It is awaited once the answer has been read; until then its failure has nobody to tell.
          released.catch(() => {});
          return answer.begin(head);
        },
      });
      return { tree: await answer.end(), exports, headers, released };
    } catch (error) {
      acknowledgements.acknowledge(exports);
      if (!arrived) {
        acknowledgements.acknowledge(done);
        const unread = !sent || (error instanceof TesseractError && error.code === "CONNECTION_FAILED");
        if (unread) await lease?.release();
        else {
          const isLeft = await lease?.giveUp();
          // The server may have leased its answer, whose name never came.
          if (isLeft === true || id !== undefined) givenUp.add(id ?? randomId(), lease, body?.byteLength ?? 0);
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

async function fetchSchema(
  http: HttpClient,
  options: ConnectionOptions,
  givenUp: GivenUpCalls,
  signal: AbortSignal,
): Promise<OpenApiSchema> {
  const path = `${options.basePath}/openapi.json`;
  const answer = new Answer({ what: `${path} at ${options.origin}`, maxBytes: options.maxResponseBytes });
  await http.send({
    method: "GET",
    path,
    headers: options.headers,
    signal,
    respond: (head) => {
      givenUp.met((name) => head.header(name));
      return answer.begin(head);
    },
  });
  const schema = await answer.end();
  if (typeof schema === "object" && schema !== null && "paths" in schema && typeof schema.paths === "object") {
    return schema as OpenApiSchema;
  }
  throw new TesseractError("MALFORMED_RESPONSE", `${path} at ${options.origin} is no OpenAPI document`, {
    hint: "Is it a Tesseract that is being served there?",
  });
}
