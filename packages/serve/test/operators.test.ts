/** What operators see of a server, each only where it is asked for. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Writable } from "node:stream";
import { context, propagation, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { pino } from "pino";
import { afterEach, describe, expect, test } from "vitest";
import { apply, request, serving, tesseractFile, until } from "./support.js";
import definition from "./tesseracts/work.js";

describe("metrics", () => {
  test("count calls, durations and bytes", async () => {
    const served = await serving(definition, { metrics: true });
    await apply(served, { x: [1, 2, 3] }, { headers: { accept: "application/json+base64" } });
    await apply(served, { x: "no" });
    const { text, headers } = await request(`${served.url}/metrics`);
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=0.0.4/);
    expect(text).toContain('tesseract_calls_total{endpoint="apply",status="200"} 1');
    expect(text).toContain('tesseract_calls_total{endpoint="apply",status="422"} 1');
    expect(text).toContain('tesseract_call_duration_seconds_count{endpoint="apply"} 2');
    expect(text).toMatch(
      /tesseract_bytes_total\{direction="in",output_format="json\+base64",gpu_transport="none"\} 24/,
    );
    expect(text).toMatch(
      /tesseract_bytes_total\{direction="out",output_format="json\+base64",gpu_transport="none"\} \d\d+/,
    );
    for (const gauge of ["tesseract_exports 0", "tesseract_exported_bytes 0", "tesseract_calls_in_flight 0"]) {
      expect(text).toContain(gauge);
    }
  });

  test("aren't there unless they are asked for", async () => {
    const { url } = await serving(definition);
    expect((await request(`${url}/metrics`)).status).toBe(404);
  });
});

describe("logs", () => {
  test("have one line for each call, and the reasons of errors", async () => {
    const lines: string[] = [];
    const stream = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(...chunk.toString().trim().split("\n"));
        done();
      },
    });
    const served = await serving(definition, { log: pino({ level: "info" }, stream) });
    await apply(served, { x: [1] });
    await apply(served, { action: "throw" });
    const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const calls = records.filter(({ msg }) => msg === "call");
    expect(calls).toMatchObject([
      { route: "apply", status: 200, encoding: { outputFormat: "json" }, requestBytes: 20 },
      { route: "apply", status: 500 },
    ]);
    expect(records.find(({ msg }) => msg === "error")).toMatchObject({
      err: { message: expect.stringContaining("asked to fail") },
    });
  });
});

describe("spans", () => {
  const exporter = new InMemorySpanExporter();
  afterEach(() => {
    trace.disable();
    propagation.disable();
    context.disable();
  });

  test("continue the client's trace, and tell how the call ended", async () => {
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    const served = await serving(definition, { tracing: true });
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await apply(served, {}, { headers: { traceparent } });
    await apply(served, { x: "no" });
    await until(() => exporter.getFinishedSpans().length === 2);
    const [first, second] = exporter.getFinishedSpans();
    expect(first?.name).toBe("POST /apply");
    expect(first?.spanContext().traceId).toBe("0af7651916cd43dd8448eb211c80319c");
    expect(first?.parentSpanContext?.spanId).toBe("b7ad6b7169203331");
    expect(first?.attributes).toMatchObject({ "tesseract.endpoint": "apply", "http.response.status_code": 200 });
    expect(second?.attributes).toMatchObject({ "http.response.status_code": 422 });
  });
});

describe("configure", () => {
  test("adds hooks and routes of the program's own", async () => {
    const served = await serving(definition, {
      configure: (app) => {
        app.addHook("onRequest", async (request, reply) => {
          if (request.headers.authorization !== "Bearer me") await reply.code(401).send({ detail: "Who are you?" });
        });
        app.get("/version", async () => ({ version: 1 }));
      },
    });
    expect((await apply(served, {})).status).toBe(401);
    expect((await apply(served, {}, { headers: { authorization: "Bearer me" } })).status).toBe(200);
    expect((await request(`${served.url}/version`, { headers: { authorization: "Bearer me" } })).json).toEqual({
      version: 1,
    });
  });
});

describe("the parent's pipe", () => {
  test("ends the server when whoever holds its other end is gone", async () => {
    const index = new URL("../src/index.ts", import.meta.url).href;
    const code = `
      import { serve } from ${JSON.stringify(index)};
      const served = await serve(${JSON.stringify(tesseractFile("work"))}, { port: 0, parentPipeFd: 3 });
      console.log(served.url);
      await served.closed;
      console.log("closed");`;
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "--conditions", "source", "--input-type=module", "--eval", code],
      { stdio: ["ignore", "pipe", "inherit", "pipe"] },
    );
    let printed = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
    await until(() => printed.includes("\n"));
    expect((await request(`${printed.trim()}/health`)).status).toBe(200);
    (child.stdio[3] as Writable).destroy();
    const [status] = await once(child, "exit");
    expect([status, printed]).toEqual([0, expect.stringContaining("closed")]);
  });
});

test("a port that is taken is an error that says so", async () => {
  const { port } = await serving(definition);
  await expect(serving(definition, { port })).rejects.toMatchObject({
    code: "CONNECTION_FAILED",
    hint: expect.stringContaining("port: 0"),
  });
});
