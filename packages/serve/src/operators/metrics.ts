/** Prometheus metrics, if they are asked for: calls, durations, bytes by encoding and transport, exports held. */
import { TesseractError } from "@tesseract-ts/core";
import type { Registry } from "prom-client";
import type { ObservedCall } from "./observer.js";

/** Seconds. A small call takes less than a millisecond, a simulation hours. */
const DURATIONS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000];

/** What is measured when metrics are asked for. */
export interface Gauges {
  readonly exportedBytes: () => number;
  readonly exports: () => number;
  readonly callsInFlight: () => number;
}

export interface Metrics {
  readonly registry: Registry;
  called(call: ObservedCall): void;
}

/** @throws TesseractError INVALID_ARGUMENT without prom-client */
export async function createMetrics(gauges: Gauges): Promise<Metrics> {
  const { Counter, Gauge, Histogram, Registry } = await import("prom-client").catch((error) => {
    throw new TesseractError("INVALID_ARGUMENT", "Metrics were asked for, and prom-client isn't installed", {
      hint: "npm install prom-client",
      cause: error,
    });
  });
  const registry = new Registry();
  const registers = [registry];
  const calls = new Counter({
    name: "tesseract_calls_total",
    help: "Calls of endpoints that were answered, by HTTP status.",
    labelNames: ["endpoint", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "tesseract_call_duration_seconds",
    help: "From a call's head to its answer.",
    labelNames: ["endpoint"],
    buckets: DURATIONS,
    registers,
  });
  const bytes = new Counter({
    name: "tesseract_bytes_total",
    help: "Bytes of bodies, by direction and by the encoding of the answer.",
    labelNames: ["direction", "output_format", "gpu_transport"],
    registers,
  });
  const exported = new Counter({
    name: "tesseract_exported_bytes_total",
    help: "Bytes of GPU memory that answers have exported.",
    labelNames: ["gpu_transport"],
    registers,
  });
  gauge("tesseract_exported_bytes", "Bytes of GPU memory that are exported now.", gauges.exportedBytes);
  gauge("tesseract_exports", "Answers whose exports are held now.", gauges.exports);
  gauge("tesseract_calls_in_flight", "Calls that are on their way now.", gauges.callsInFlight);

  function gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });
  }
  return {
    registry,
    called: ({ route, status, seconds, requestBytes, answerBytes, encoding, exportedBytes }) => {
      calls.inc({ endpoint: route, status });
      durations.observe({ endpoint: route }, seconds);
      if (encoding === undefined) return;
      const { outputFormat: output_format, gpuTransport: gpu_transport } = encoding;
      bytes.inc({ direction: "in", output_format, gpu_transport }, requestBytes);
      bytes.inc({ direction: "out", output_format, gpu_transport }, answerBytes);
      if (exportedBytes > 0) exported.inc({ gpu_transport }, exportedBytes);
    },
  };
}
