/** A server keeps answering, whatever its clients and its endpoints do. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { apply, atTheEnd, RawConnection, request, serving, tesseractFile, until } from "./support.js";
import definition from "./tesseracts/work.js";

const head = (length: number, extra = ""): string =>
  `POST /apply HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n${extra}\r\n`;

const well = async (served: { readonly url: string }): Promise<void> => {
  expect((await apply(served, { x: [1] })).status).toBe(200);
};

describe("clients", () => {
  test("one that sends its head a letter at a time is let go", async () => {
    const served = await serving(definition, { headersTimeout: 300 });
    await using slow = new RawConnection(served.port);
    let closed = false;
    void slow.closed.then(() => {
      closed = true;
    });
    for (const letter of head(10)) {
      if (closed) break;
      await slow.write(letter);
      await sleep(50);
    }
    expect(closed).toBe(true);
    expect(slow.received).toMatch(/^HTTP\/1.1 408/);
    await well(served);
  });

  test("one that sends half a body is told, and let go", async () => {
    const served = await serving(definition, { bodyTimeout: 200 });
    await using half = new RawConnection(served.port);
    await half.write(`${head(1000)}{"inputs":`);
    await until(() => half.received !== "");
    expect(half.received).toMatch(/^HTTP\/1.1 408/);
    await half.closed;
    await well(served);
  });

  test("one that vanishes in the middle of a body leaves nothing", async () => {
    const served = await serving(definition, { maxConcurrentCalls: 1 });
    for (let i = 0; i < 20; i++) {
      const half = new RawConnection(served.port);
      await half.write(`${head(1000)}{"inputs":`);
      half.destroy();
      await half.closed;
    }
    await until(async () => (await apply(served, {})).status === 200);
  });

  test("a body over the limit is refused by its length, before it is sent", async () => {
    const served = await serving(definition);
    await using large = new RawConnection(served.port);
    await large.write(head(2_000_000_000));
    await until(() => large.received !== "");
    expect(large.received).toMatch(/^HTTP\/1.1 413/);
    await well(served);
  });

  test("a body over the limit that doesn't tell its length is refused where it reaches the limit", async () => {
    const served = await serving(definition, { maxRequestBytes: 100_000 });
    const before = process.memoryUsage().arrayBuffers;
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        sent += 50_000;
        controller.enqueue(new TextEncoder().encode(`${sent === 50_000 ? '{"inputs":"' : ""}${"a".repeat(50_000)}`));
        // A client that only stops when it is told to.
        if (sent > 2_000_000_000) controller.close();
      },
    });
    const init = {
      method: "POST",
      body,
      duplex: "half",
      headers: { "content-type": "application/json" },
    } as RequestInit;
    const outcome = await request(`${served.url}/apply`, init).then(
      ({ status }) => status,
      () => 413,
    );
    expect(outcome).toBe(413);
    expect(sent).toBeLessThan(1_000_000_000);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(100_000_000);
    await well(served);
  });

  test("arrays that would be larger than the limit are refused before they are decoded", async () => {
    const served = await serving(definition, { maxArrayBytes: 1000 });
    const x = { shape: [1 << 28], dtype: "float64", data: { encoding: "base64", compression: "lz4", buffer: "AAAA" } };
    expect((await apply(served, { x })).status).toBe(413);
    await well(served);
  });

  test("1,000 connections at once are answered", async () => {
    const served = await serving(definition, { maxConcurrentCalls: 2000 });
    const connections = Array.from({ length: 1000 }, () => new RawConnection(served.port));
    atTheEnd(async () => {
      for (const connection of connections) connection.destroy();
    });
    const body = '{"inputs":{"x":[1]}}';
    await Promise.all(connections.map((connection) => connection.write(head(body.length) + body)));
    await until(() => connections.every(({ received }) => received.endsWith("}")));
    expect(connections.every(({ received }) => received.startsWith("HTTP/1.1 200"))).toBe(true);
    await well(served);
  });

  test("a client that gives up ends its call", async () => {
    const served = await serving(definition, { maxConcurrentCalls: 1 });
    const call = apply(served, { action: "wait", milliseconds: 60_000 }, { signal: AbortSignal.timeout(100) });
    await expect(call).rejects.toThrow();
    await until(async () => (await apply(served, {})).status === 200);
  });
});

describe("calls", () => {
  test("more than may run at once are told to come back", async () => {
    const served = await serving(definition, { maxConcurrentCalls: 2 });
    const running = [1, 2].map(() => apply(served, { action: "wait", milliseconds: 300 }));
    await sleep(100);
    const { status, headers } = await apply(served, {});
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await request(`${served.url}/health`)).status).toBe(200);
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
    await well(served);
  });

  test("one that never ends is ended by the time limit, and its place is free again", async () => {
    const served = await serving(definition, { timeLimit: 100, maxConcurrentCalls: 1 });
    expect(await apply(served, { action: "never" })).toMatchObject({
      status: 504,
      json: { detail: "The call took longer than 100 ms" },
    });
    await well(served);
  });

  test("one that heeds its signal is told of the time limit", async () => {
    const served = await serving(definition, { timeLimit: 100 });
    expect((await apply(served, { action: "wait", milliseconds: 10_000 })).status).toBe(504);
  });
});

describe("threads", () => {
  const file = tesseractFile("threaded");

  test("an endpoint that computes for long doesn't stop the server, and others run beside it", async () => {
    const served = await serving(file, { threads: 2 });
    const x = Array.from({ length: 20_000 }, (_, index) => index);
    let computed = false;
    const computing = apply(served, { action: "compute", milliseconds: 4000, x }).finally(() => {
      computed = true;
    });
    await sleep(100);
    expect((await request(`${served.url}/health`)).status).toBe(200);
    expect(computed).toBe(false);
    expect((await computing).json).toMatchObject({ y: { shape: [20_000], data: { buffer: x } }, ended: "by itself" });
  });

  test("one that never ends is ended with its thread by the time limit", async () => {
    const served = await serving(file, { threads: 1, timeLimit: 1000 });
    await well(served);
    expect((await apply(served, { action: "forever" })).status).toBe(504);
    await until(async () => (await apply(served, {})).status === 200);
  });

  test("one whose client is gone ends, by its signal or with its thread", async () => {
    const served = await serving(file, { threads: 1 });
    for (const action of ["wait", "forever"]) {
      const signal = AbortSignal.timeout(300);
      await expect(apply(served, { action, milliseconds: 1e6 }, { signal })).rejects.toThrow();
      await well(served);
    }
  });

  test("one that ends its thread, or throws, is an error, and the next call is answered", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const served = await serving(file, { threads: 1, debug: true });
    for (const [action, text] of [
      ["exit", "The thread that ran the endpoint has ended"],
      ["throw", "RangeError: asked to fail"],
    ]) {
      const answer = await apply(served, { action });
      expect([answer.status, answer.text]).toEqual([500, expect.stringContaining(text as string)]);
    }
    await well(served);
    errors.mockRestore();
  });

  test("runs have their logs and files, and refused requests their issues", async () => {
    const served = await serving(file, { threads: 1 });
    expect((await apply(served, { action: "log" }, { query: "?run_id=1" })).status).toBe(200);
    const x = { shape: [2], dtype: "float64", data: { encoding: "base64", buffer: "AAAA" } };
    expect((await apply(served, { x })).json).toMatchObject({ detail: [{ type: "array_decode_error" }] });
    expect((await apply(served, { x: ["a"] })).json).toMatchObject({ detail: [{ type: "array_non_numeric" }] });
  });

  test("calls wait for a thread in turn", async () => {
    const served = await serving(file, { threads: 1 });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => apply(served, { x: [index] })));
    expect(answers.map(({ json }) => json)).toMatchObject(
      Array.from({ length: 20 }, (_, index) => ({ y: { data: { buffer: [index] } } })),
    );
  });
});

describe("closing", () => {
  test("calls that run end, and new ones aren't taken", async () => {
    const served = await serving(definition);
    const running = apply(served, { action: "wait", milliseconds: 300 });
    await sleep(100);
    const closed = served.close();
    const refused = await apply(served, {}).catch(() => ({ status: 503 }));
    expect(refused.status).toBe(503);
    expect((await running).json).toMatchObject({ ended: "by itself" });
    await closed;
    await served.closed;
  });

  test("calls that don't end in time are aborted", async () => {
    const served = await serving(definition, { shutdownLimit: 100, metrics: true });
    const running = [apply(served, { action: "wait", milliseconds: 600_000 }), apply(served, { action: "never" })];
    await until(async () => (await request(`${served.url}/metrics`)).text.includes("tesseract_calls_in_flight 2"));
    await served.close();
    for (const { status } of await Promise.all(running)) expect(status).toBe(503);
  });
});
