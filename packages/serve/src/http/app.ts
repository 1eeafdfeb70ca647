/** The HTTP side of a server: routes, and what each request goes through. */
import type { IncomingMessage } from "node:http";
import { type Headers, type HostTransport, TesseractError } from "@tesseract-ts/core";
import { JsonBody, TransportSet } from "@tesseract-ts/core/message";
import type { RunnerRoute } from "@tesseract-ts/inprocess";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, LogController } from "fastify";
import { answerCall, type CallContext } from "../calls/call.js";
import type { EncodedAnswer } from "../calls/encode-answer.js";
import type { CallEnding } from "../calls/ending.js";
import { ReceivedBuffers } from "../calls/received-buffers.js";
import { answerCheck } from "../exchange/check.js";
import { type Exchange, type Exchanges, exportsHeader } from "../exchange/exchange.js";
import type { Offered } from "../offer.js";
import type { Metrics } from "../operators/metrics.js";
import type { Observer } from "../operators/observer.js";
import { Access } from "./access.js";
import { type BodyLimits, readBody } from "./body.js";
import { BodyClock } from "./body-clock.js";
import { CallsInFlight } from "./calls-in-flight.js";
import { docsPage } from "./docs-page.js";
import { type Encoding, negotiate, type Offer } from "./negotiation.js";
import { notFound, Refusal } from "./refusal.js";
import { runIdOf } from "./run-id.js";
import { linger, sendJson, sendRefusal } from "./send.js";
import { traceback } from "./traceback.js";

/** Milliseconds that an idle connection is kept, as by the reference. */
const KEEP_ALIVE_MS = 60_000;
/** How often it is looked for heads of requests that are late. */
const CHECK_MS = 2_000;

const computing: ReadonlySet<RunnerRoute> = new Set([
  "apply",
  "jacobian",
  "jacobian_vector_product",
  "vector_jacobian_product",
]);

export interface AppContext extends CallContext, Offered {
  readonly exchanges: Exchanges;
  readonly observer: Observer;
}

/** What is known of a call, for those who observe. */
interface CallReport {
  requestBytes: number;
  answerBytes: number;
  encoding: Encoding | undefined;
  exportedBytes: number;
}

export class App {
  readonly fastify: FastifyInstance;
  readonly inFlight: CallsInFlight;
  private readonly access: Access;
  private readonly openapi: Buffer;
  private readonly docs: string;
  private readonly openBase64: HostTransport["openBuffer"];
  private readonly bodyLimits: BodyLimits;
  private lastNegotiated: { readonly accept: string | undefined; readonly encoding: Encoding } | undefined;
  /** Whether answers may keep something at the server for their clients, such as memory of GPUs. */
  private readonly mayLease: boolean;

  constructor(private readonly context: AppContext) {
    const { settings, runner, offer, transports, observer } = context;
    this.access = new Access(settings);
    this.inFlight = new CallsInFlight(settings.maxConcurrentCalls);
    this.bodyLimits = { maxRequestBytes: settings.maxRequestBytes, clock: new BodyClock(settings.bodyTimeout) };
    const document = runner.openapi({ test: settings.debug, ...offer });
    this.openapi = Buffer.from(JSON.stringify(document));
    this.docs = docsPage(document);
    this.mayLease = new TransportSet(transports).mayLease;
    const base64 = transports.find(
      (transport): transport is HostTransport => transport.carries === "host" && transport.name === "base64",
    );
    this.openBase64 = base64?.openBuffer?.bind(base64);
    this.fastify = fastify({
      ...(observer.logger === undefined ? {} : { loggerInstance: observer.logger }),
      // Calls are logged once, with what they were.
      logController: new LogController({ disableRequestLogging: true }),
      return503OnClosing: false,
      exposeHeadRoutes: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      forceCloseConnections: "idle",
      http: {
        headersTimeout: settings.headersTimeout,
        connectionsCheckingInterval: Math.min(CHECK_MS, settings.headersTimeout),
      },
    }) as unknown as FastifyInstance;
    this.addRoutes();
  }

  get metrics(): Metrics | undefined {
    return this.context.observer.metrics;
  }

  private addRoutes(): void {
    const { fastify: app, access } = this;
    const { runner, settings, observer, offer, exchanges } = this.context;
    // Bodies are read as they arrive, by the routes themselves.
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", (_request, _payload, done) => done(null));
    app.addHook("onRequest", (request, reply, done) => {
      const { headers } = request.raw;
      try {
        access.check(headers);
        // Fastify refuses a type that is none; the reference reads the body as text.
        if (headers["content-type"]?.includes("/") === false) headers["content-type"] = "text/plain";
        reply.headers(access.headers(headers));
        reply.headers(exchanges.serverHeaders);
        done();
      } catch (error) {
        done(error as Error);
      }
    });
    app.setErrorHandler((error, request, reply) => this.refuse(error, request, reply));
    app.setNotFoundHandler((request, reply) => this.answerUnknown(request, reply));

    for (const route of runner.routes) {
      if (route === "test" && !settings.debug) continue;
      app.post(`/${route}`, (request, reply) => this.answer(route, request, reply));
    }
    app.get("/health", (request, reply) => this.exchange(request, reply, { status: "ok" }));
    if (offer.gpuTransports.length > 1) {
      app.post("/check_gpu_transport", (request, reply) => this.check(request, reply));
    }
    app.get("/openapi.json", (_request, reply) => {
      reply.header("content-type", "application/json").send(this.openapi);
    });
    app.get("/docs", (_request, reply) => {
      reply
        .header("content-type", "text/html; charset=utf-8")
        .header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'")
        .send(this.docs);
    });
    observer.addRoutes(app);
  }

  /** A call of an endpoint. */
  private async answer(route: RunnerRoute, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { observer } = this.context;
    const report: CallReport = { requestBytes: 0, answerBytes: 0, encoding: undefined, exportedBytes: 0 };
    const began = performance.now();
    await observer.around(
      route,
      request.raw.headers,
      () => reply.raw.statusCode,
      async () => {
        try {
          await this.inFlight.during(reply.raw, async (ending) => {
            const exchange = await this.beginExchange(request.raw, ending);
            try {
              const encoded = await this.compute(route, request, exchange, report, ending);
              await this.send(route, reply, encoded, exchange, report, ending);
            } catch (error) {
              // A refusal says what there is to say beside it as well.
              if (!isAnswered(reply)) reply.headers(await exchange.headers());
              throw error;
            } finally {
              exchange.message.end(false);
            }
          });
        } catch (error) {
          this.refuse(error, request, reply);
        } finally {
          if (observer.observes) {
            const seconds = (performance.now() - began) / 1000;
            observer.called({ route, status: reply.raw.statusCode, seconds, ...report, id: request.id });
          }
        }
      },
    );
  }

  private async compute(
    route: RunnerRoute,
    request: FastifyRequest,
    exchange: Exchange,
    report: CallReport,
    ending: CallEnding,
  ): Promise<EncodedAnswer> {
    const { context } = this;
    const { settings, offer, exchanges } = context;
    let timer: NodeJS.Timeout | undefined;
    try {
      const buffers = new ReceivedBuffers(this.openBase64);
      const body = await readBody(request.raw, this.bodyLimits, buffers.open);
      report.requestBytes = body.bytes;
      if (Number.isFinite(settings.timeLimit)) timer = limitTime(ending, settings.timeLimit);
      const accept = computing.has(route) ? request.raw.headers.accept : undefined;
      const encoding = this.negotiated(accept, offer);
      if (!(encoding instanceof Refusal)) report.encoding = encoding;
      if (this.mayLease && computing.has(route) && !exchange.acknowledges) await exchanges.dropUnacknowledged();
      const call = {
        route,
        payload: body.tree,
        buffers,
        runId: runIdOf(request.raw.url ?? ""),
        encoding,
        transports: exchange.message.transports,
        headers: headersOf(request.raw),
        ending,
        onRead: () => this.endReading(exchange),
      };
      return await answerCall(call, context);
    } finally {
      this.endReading(exchange);
      clearTimeout(timer);
    }
  }

  /** Clients say the same with every call. */
  private negotiated(accept: string | undefined, offer: Offer): Encoding | Refusal {
    const { lastNegotiated: last } = this;
    if (last !== undefined && last.accept === accept) return last.encoding;
    const encoding = negotiate(accept, offer);
    if (!(encoding instanceof Refusal)) this.lastNegotiated = { accept, encoding };
    return encoding;
  }

  private async send(
    route: RunnerRoute,
    reply: FastifyReply,
    encoded: EncodedAnswer,
    exchange: Exchange,
    report: CallReport,
    ending: CallEnding,
  ): Promise<void> {
    const { exports } = this.context;
    const { body, lease, exportedBytes } = encoded;
    report.answerBytes = body.byteLength ?? 0;
    report.exportedBytes = exportedBytes;
    const headers: Record<string, string> = { ...encoded.headers };
    if (lease !== undefined) {
      if (ending.aborted) {
        await lease.release();
        exports.cancel(exportedBytes);
        ending.throwIfAborted();
      }
      const id = exports.keep(lease, exportedBytes, exchange.acknowledges, exchange.callId);
      Object.assign(headers, exportsHeader(id));
    }
    const format = computing.has(route) ? (report.encoding?.outputFormat ?? "json") : "json";
    Object.assign(headers, await exchange.headers());
    await sendJson(reply, `application/${format}`, headers, body);
  }

  private async beginExchange(request: IncomingMessage, ending: CallEnding): Promise<Exchange> {
    const { exchanges } = this.context;
    const exchange = await exchanges.begin(headersOf(request), request.headers);
    try {
      if (exchange.callId !== undefined) exchanges.calls.begin(exchange.callId, ending);
    } catch (error) {
      exchange.message.end(false);
      throw error;
    }
    return exchange;
  }

  private endReading(exchange: Exchange): void {
    if (exchange.callId !== undefined) this.context.exchanges.calls.read(exchange.callId);
  }

  /** An answer without arrays to a request that may say something. */
  private async exchange(request: FastifyRequest, reply: FastifyReply, answer: unknown): Promise<void> {
    const exchange = await this.context.exchanges.begin(headersOf(request.raw), request.raw.headers);
    const headers = await exchange.headers();
    exchange.message.end(true);
    await sendJson(reply, "application/json", headers, JsonBody.of(answer));
  }

  /** `POST /check_gpu_transport` */
  private async check(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { offer, exports } = this.context;
    try {
      await this.inFlight.during(reply.raw, async (ending) => {
        const exchange = await this.beginExchange(request.raw, ending);
        try {
          const { tree } = await readBody(request.raw, this.bodyLimits, undefined);
          const { body, lease, headers } = await answerCheck(
            tree,
            exchange.message.transports,
            offer.gpuTransports,
            ending.signal,
          );
          // A check is answered to clients that acknowledge, whatever they have said so far.
          const held = lease === undefined ? {} : exportsHeader(exports.keep(lease, 0, true, exchange.callId));
          const said = await exchange.headers();
          await sendJson(reply, "application/json", { ...headers, ...held, ...said }, JsonBody.of(body));
        } finally {
          this.endReading(exchange);
          exchange.message.end(false);
        }
      });
    } catch (error) {
      this.refuse(error, request, reply);
    }
  }

  private answerUnknown(request: FastifyRequest, reply: FastifyReply): void {
    const [path = "", query] = (request.raw.url ?? "").split(/\?(.*)/s);
    const method = this.fastify.hasRoute({ method: "POST", url: path })
      ? "POST"
      : this.fastify.hasRoute({ method: "GET", url: path })
        ? "GET"
        : undefined;
    if (method !== undefined) {
      const preflight = request.method === "OPTIONS" ? this.access.preflight(request.raw.headers) : undefined;
      if (preflight !== undefined) {
        reply.code(204).headers(preflight).send();
        return;
      }
      sendRefusal(reply, new Refusal(405, "Method Not Allowed", { allow: method }, true));
      return;
    }
    const shorter = path.replace(/\/$/, "");
    if (shorter !== path && this.fastify.hasRoute({ method: request.method as "GET", url: shorter })) {
      linger(reply.raw);
      const location = `http://${request.raw.headers.host ?? ""}${shorter}${query === undefined ? "" : `?${query}`}`;
      reply.code(307).header("location", location).send();
      return;
    }
    const { status, detail } = notFound();
    sendRefusal(reply, new Refusal(status, detail, {}, true));
  }

  /** Answers what went wrong, if it still can be answered. */
  private refuse(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const { observer, settings } = this.context;
    if (isAnswered(reply)) {
      // That a client is gone needn't be told.
      if (!(error instanceof Refusal) && !reply.raw.destroyed) observer.failed(error, request.id);
      return;
    }
    if (error instanceof Refusal) {
      sendRefusal(reply, error);
      return;
    }
    if (error instanceof TesseractError && error.code === "ENDPOINT_NOT_FOUND") {
      sendRefusal(reply, notFound());
      return;
    }
    const { statusCode } = error as { statusCode?: unknown };
    if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
      sendRefusal(reply, new Refusal(statusCode, error instanceof Error ? error.message : String(error), {}, true));
      return;
    }
    observer.failed(error, request.id);
    linger(reply.raw);
    reply.code(500).header("content-type", "text/plain; charset=utf-8");
    reply.send(settings.debug ? traceback(error) : "Internal Server Error");
  }
}

/** Whether it is too late to answer anything else. */
const isAnswered = ({ raw, sent }: FastifyReply): boolean => raw.headersSent || raw.destroyed || sent;

function limitTime(ending: CallEnding, timeLimit: number): NodeJS.Timeout {
  const refusal = new Refusal(504, `The call took longer than ${timeLimit} ms`);
  return setTimeout(() => ending.abort(refusal), timeLimit);
}

const headersOf =
  ({ headers }: IncomingMessage): Headers =>
  (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(",") : value;
  };
