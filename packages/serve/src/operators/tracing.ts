/** OpenTelemetry spans, if they are asked for: one for each call, in the context that the client sent. */
import type { IncomingHttpHeaders } from "node:http";
import { TesseractError } from "@tesseract-ts/core";

export interface Tracing {
  /** @param status asked for when the call has ended */
  around(route: string, headers: IncomingHttpHeaders, status: () => number, work: () => Promise<void>): Promise<void>;
}

/**
 * Spans go where the program's own OpenTelemetry setup sends them: its tracer provider and its propagator are used.
 *
 * @throws TesseractError INVALID_ARGUMENT without @opentelemetry/api
 */
export async function createTracing(): Promise<Tracing> {
  const { context, propagation, SpanKind, SpanStatusCode, trace } = await import("@opentelemetry/api").catch(
    (error) => {
      throw new TesseractError("INVALID_ARGUMENT", "Tracing was asked for, and @opentelemetry/api isn't installed", {
        hint: "npm install @opentelemetry/api, and set up a tracer provider.",
        cause: error,
      });
    },
  );
  return {
    around: (route, headers, status, work) => {
      const parent = propagation.extract(context.active(), headers);
      const attributes = { "http.request.method": "POST", "http.route": `/${route}`, "tesseract.endpoint": route };
      const tracer = trace.getTracer("@tesseract-ts/serve");
      const span = tracer.startSpan(`POST /${route}`, { kind: SpanKind.SERVER, attributes }, parent);
      return context.with(trace.setSpan(parent, span), async () => {
        try {
          await work();
        } finally {
          span.setAttribute("http.response.status_code", status());
          if (status() >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
          span.end();
        }
      });
    },
  };
}
