/** What operators are told of calls: logs, metrics, spans. */
import type { IncomingHttpHeaders } from "node:http";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { Encoding } from "../http/negotiation.js";
import { createMetrics, type Gauges, type Metrics } from "./metrics.js";
import { createTracing, type Tracing } from "./tracing.js";

/** What operators want to know; nothing unless told. */
export interface OperatorSettings {
  /** Structured logs on standard output, by pino: one line for each call, and one for each error. */
  readonly log?: boolean | { readonly level: string };
  /** Prometheus metrics at `/metrics`. It needs the package `prom-client`. */
  readonly metrics?: boolean;
  /** OpenTelemetry spans. It needs the package `@opentelemetry/api`, and a tracer provider. */
  readonly tracing?: boolean;
}

/** One call that was answered, or refused. */
export interface ObservedCall {
  readonly id: string;
  readonly route: string;
  readonly status: number;
  readonly seconds: number;
  readonly requestBytes: number;
  readonly answerBytes: number;
  /** Undefined for a call that didn't come so far. */
  readonly encoding: Encoding | undefined;
  readonly exportedBytes: number;
}

export interface Observer {
  readonly logger: FastifyBaseLogger | undefined;
  readonly metrics: Metrics | undefined;
  /** Whether anyone wants to know of calls. */
  readonly observes: boolean;
  /**
   * Runs a call, in a span.
   *
   * @param status asked for when the call has ended
   */
  around(route: string, headers: IncomingHttpHeaders, status: () => number, work: () => Promise<void>): Promise<void>;
  called(call: ObservedCall): void;
  /** An error of the server's or of an endpoint's own. */
  failed(error: unknown, id: string): void;
  addRoutes(app: FastifyInstance): void;
}

/** The metrics of all worker processes of a server, as text. */
export type CollectMetrics = (own: Metrics) => Promise<{ readonly contentType: string; readonly text: string }>;

const ownMetrics: CollectMetrics = async ({ registry }) => ({
  contentType: registry.contentType,
  text: await registry.metrics(),
});

/** @throws TesseractError INVALID_ARGUMENT where a package is missing */
export async function createObserver(
  { metrics: withMetrics, tracing: withTracing }: OperatorSettings,
  logger: FastifyBaseLogger | undefined,
  gauges: Gauges,
  collect: CollectMetrics = ownMetrics,
): Promise<Observer> {
  const metrics = withMetrics === true ? await createMetrics(gauges) : undefined;
  const tracing = withTracing === true ? await createTracing() : undefined;
  return new OptionalObserver(logger, metrics, tracing, collect);
}

class OptionalObserver implements Observer {
  readonly observes: boolean;

  constructor(
    readonly logger: FastifyBaseLogger | undefined,
    readonly metrics: Metrics | undefined,
    private readonly tracing: Tracing | undefined,
    private readonly collect: CollectMetrics,
  ) {
    this.observes = logger !== undefined || metrics !== undefined;
  }

  around(route: string, headers: IncomingHttpHeaders, status: () => number, work: () => Promise<void>): Promise<void> {
    return this.tracing === undefined ? work() : this.tracing.around(route, headers, status, work);
  }

  called(call: ObservedCall): void {
    this.metrics?.called(call);
    this.logger?.info(call, "call");
  }

  failed(error: unknown, id: string): void {
    if (this.logger !== undefined) this.logger.error({ err: error, id }, "error");
    else console.error(error);
  }

  addRoutes(app: FastifyInstance): void {
    const { metrics } = this;
    if (metrics === undefined) return;
    app.get("/metrics", async (_request, reply) => {
      const { contentType, text } = await this.collect(metrics);
      return reply.header("content-type", contentType).send(text);
    });
  }
}
