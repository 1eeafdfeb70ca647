/** GPU arrays between a server and its clients: what is exported lives as long as somebody reads it, and no longer. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromUrl, type Transports } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { ServeOptions } from "../src/index.js";
import { FakeGpuArray, fakeGpu, greetingGpu, living } from "./fake-gpu.js";
import {
  type Answer,
  apply,
  atTheEnd,
  failureOf,
  RawConnection,
  request,
  type Serving,
  serving,
  tesseractError,
  until,
} from "./support.js";
import definition from "./tesseracts/gpu.js";
import work from "./tesseracts/work.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-fake-gpu-"));
  Object.assign(living, { arrays: 0, leases: 0, sessions: 0 });
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const serve = (options: ServeOptions = {}): Promise<Serving> =>
  serving(definition, { gpuTransport: "cuda_ipc", transports: [fakeGpu(folder), host()], ...options });

async function client({ url }: Serving, transports: Transports = [fakeGpu(folder), host()]) {
  const tess = await fromUrl<{ inputs: object; outputs: { y: FakeGpuArray; z: { data: Float64Array } } }>(url, {
    transports,
  });
  atTheEnd(() => tess.close());
  return tess;
}

/** A client that speaks HTTP itself: its exported arrays, and what it sends. */
async function call(
  { url }: Serving,
  headers: Record<string, string> = {},
  values = [1, 2],
): Promise<Answer & { ids: string | null }> {
  using x = FakeGpuArray.of(...values);
  const { arrays, lease } = await fakeGpu(folder).encode([x], { compression: "none" });
  const accept = "application/json; gpu_transport=cuda_ipc";
  const answer = await apply({ url }, { x: arrays[0] }, { headers: { accept, ...headers } });
  await lease?.release();
  return { ...answer, ids: answer.headers.get("tesseract-exports") };
}

/** Exports that live, of any process. */
const exported = async (): Promise<number> => (await readdir(folder)).length;

describe("a client of this project", () => {
  test("keeps its arrays on the device, and nothing is left of the calls when it closes", async () => {
    const served = await serve();
    const tess = await client(served);
    expect(await tess.resolveGpuTransport()).toBe("cuda_ipc");
    const onDevice = tess.withEncoding({ gpuTransport: "cuda_ipc" });
    using x = FakeGpuArray.of(1, 2, 3);
    for (let i = 0; i < 3; i++) {
      const { y, z } = await onDevice.apply({ x });
      expect([...new Float64Array(y.read().slice().buffer)]).toEqual([1, 2, 3]);
      expect(z.data).toEqual(Float64Array.of(3));
      y[Symbol.dispose]();
    }
    await tess.close();
    expect(await exported()).toBe(0);
    expect(living).toEqual({ arrays: 1, leases: 0, sessions: 0 });
  });

  test("may have its arrays go through the host, with the same values", async () => {
    const served = await serve();
    const tess = await client(served);
    using x = FakeGpuArray.of(1, 2, 3);
    const { y } = (await tess.withEncoding({ gpuTransport: "none" }).apply({ x })) as unknown as {
      y: { data: Float64Array };
    };
    expect(y.data).toEqual(Float64Array.of(1, 2, 3));
    expect(await exported()).toBe(0);
    expect(living.arrays).toBe(1);
  });

  test("that gives a call up gets its exports back as soon as the server reads them no more", async () => {
    const served = await serve();
    const tess = (await client(served)).withEncoding({ gpuTransport: "cuda_ipc" });
    using x = FakeGpuArray.of(1, 2, 3);
    const signal = AbortSignal.timeout(200);
    expect(await failureOf(() => tess.apply({ x, action: "wait", milliseconds: 60_000 }, { signal }))).toEqual(
      tesseractError("ABORTED"),
    );
    expect(living.leases).toBe(1);
    (await tess.apply({ x })).y[Symbol.dispose]();
    (await tess.apply({ x })).y[Symbol.dispose]();
    // The lease of the last answer is left, until it is acknowledged.
    expect(living.leases).toBe(1);
    await until(() => living.arrays === 2);
  });
});

describe("exports of answers", () => {
  test("are named, and end when the client names them, on whichever request", async () => {
    const served = await serve();
    const first = await call(served, { "tesseract-exports-done": "" });
    expect([first.status, first.json]).toMatchObject([
      200,
      { y: { data: { encoding: "cuda_ipc" } }, z: { data: { encoding: "json" } } },
    ]);
    expect(first.ids).toMatch(/^[\w.-]+$/);
    expect(await exported()).toBe(1);
    const second = await call(served, { "tesseract-exports-done": "unknown,another" });
    expect(await exported()).toBe(2);
    await call(served, { "tesseract-exports-done": `${first.ids}` });
    expect(await exported()).toBe(2);
    await request(`${served.url}/health`, { headers: { "tesseract-exports-done": `${second.ids}` } });
    expect(await exported()).toBe(1);
    expect(living.leases).toBe(1);
  });

  test("end with the next call of any such client, where clients name nothing", async () => {
    const served = await serve();
    const kept = await call(served, { "tesseract-exports-done": "" });
    await call(served);
    await call(served);
    expect(await exported()).toBe(2);
    await apply(served, { x: [1] });
    expect(await exported()).toBe(1);
    await request(`${served.url}/health`, { headers: { "tesseract-exports-done": `${kept.ids}` } });
    expect(await exported()).toBe(0);
    expect(living).toMatchObject({ arrays: 0, leases: 0 });
  });

  test("end after a time limit, where nobody names them", async () => {
    const served = await serve({ exportTimeLimit: 200 });
    await call(served, { "tesseract-exports-done": "" });
    expect(await exported()).toBe(1);
    await until(async () => (await exported()) === 0);
    expect(living).toMatchObject({ arrays: 0, leases: 0 });
  });

  test("end with the server", async () => {
    const served = await serve();
    await call(served, { "tesseract-exports-done": "" });
    await served.close();
    expect(await exported()).toBe(0);
    expect(living).toMatchObject({ arrays: 0, leases: 0 });
  });

  test("aren't named where there are none", async () => {
    const served = await serve();
    for (const inputs of [{ x: [1] }, { x: [1], action: "host" }]) {
      const accept = "application/json; gpu_transport=cuda_ipc";
      const { status, headers } = await apply(served, inputs, { headers: { accept } });
      expect([status, headers.get("tesseract-exports")]).toEqual([200, null]);
    }
  });

  test("of a failed call leave nothing", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const served = await serve();
    using x = FakeGpuArray.of(1, 2);
    const { arrays, lease } = await fakeGpu(folder).encode([x], { compression: "none" });
    expect((await apply(served, { x: arrays[0], action: "throw" })).status).toBe(500);
    expect((await apply(served, { x: { ...arrays[0], shape: [1, 2] } })).status).toBe(422);
    await lease?.release();
    expect((await apply(served, { x: arrays[0] })).json).toMatchObject({
      detail: [{ type: "array_decode_error", loc: ["body", "inputs", "x"] }],
    });
    expect(await exported()).toBe(0);
    expect(living).toMatchObject({ arrays: 1, leases: 0 });
    errors.mockRestore();
  });

  test("are limited in bytes: a call too many is told to come back, and leaves nothing", async () => {
    const served = await serve({ maxExportedBytes: 40 });
    const acknowledging = { "tesseract-exports-done": "" };
    const [first] = [await call(served, acknowledging), await call(served, acknowledging)];
    const refused = await call(served, acknowledging);
    expect([refused.status, refused.headers.get("retry-after"), refused.json]).toEqual([
      503,
      "1",
      { detail: expect.stringContaining("40 may be at once") },
    ]);
    expect(await exported()).toBe(2);
    expect((await call(served, { "tesseract-exports-done": `${first?.ids}` })).status).toBe(200);
  });

  test("come back to nothing, whenever clients vanish", async () => {
    const served = await serve({ exportTimeLimit: 300 });
    using x = FakeGpuArray.of(1, 2, 3, 4);
    const { arrays, lease } = await fakeGpu(folder).encode([x], { compression: "none" });
    const body = JSON.stringify({ inputs: { x: arrays[0], action: "wait", milliseconds: 5 } });
    const head =
      `POST /apply HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n` +
      "Accept: application/json; gpu_transport=cuda_ipc\r\nTesseract-Exports-Done:\r\n\r\n";
    await Promise.all(
      Array.from({ length: 200 }, async (_, index) => {
        const connection = new RawConnection(served.port);
        await connection.write((head + body).slice(0, index % 4 === 0 ? Math.floor(Math.random() * 600) : undefined));
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 60));
        connection.destroy();
        await connection.closed;
      }),
    );
    await lease?.release();
    await until(async () => (await exported()) === 0);
    await until(() => living.arrays === 1 && living.leases === 0);
    expect((await call(served)).status).toBe(200);
  });
});

describe("a call that a client gave up", () => {
  const headers = {
    accept: "application/json; gpu_transport=cuda_ipc",
    "tesseract-exports-done": "",
    "tesseract-peer": "me",
  };
  const ask = async (served: Serving, ids: string) =>
    (await request(`${served.url}/health`, { headers: { "tesseract-peer": "me", "tesseract-given-up": ids } })).headers;

  test("has ended if it never came, and is refused when it comes late", async () => {
    const served = await serve();
    const answer = await ask(served, "a,b");
    expect(answer.get("tesseract-ended")).toBe("a,b");
    expect(answer.get("tesseract-peer")).toMatch(/^[0-9a-f]{32}$/);
    const late = await call(served, { ...headers, "tesseract-call": "b" });
    expect([late.status, late.json]).toEqual([409, { detail: expect.any(String) }]);
    expect((await call(served, { ...headers, "tesseract-call": "c" })).status).toBe(200);
  });

  test("hasn't ended while its body is still coming, and ends then", async () => {
    const served = await serve();
    const body = '{"inputs":{"x":[1]}}';
    const half = new RawConnection(served.port);
    await half.write(
      `POST /apply HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nTesseract-Peer: me\r\nTesseract-Call: one\r\n\r\n{`,
    );
    await until(async () => (await ask(served, "one")).get("tesseract-ended") === null || half.received !== "");
    await half.write(body.slice(1));
    await until(() => half.received !== "");
    half.destroy();
    expect((await ask(served, "one")).get("tesseract-ended")).toBe("one");
  });

  test("is told of on answers that refuse as well, for a client takes silence for a server that doesn't know", async () => {
    const served = await serve();
    const given = { ...headers, "tesseract-given-up": "never" };
    for (const [inputs, more, status] of [
      [{ x: "no" }, {}, 422],
      [{ x: [1] }, { accept: "application/paper" }, 406],
    ] as const) {
      const answer = await apply(served, inputs, { headers: { ...given, ...more } });
      expect([answer.status, answer.headers.get("tesseract-ended")]).toEqual([status, "never"]);
      expect(answer.headers.get("tesseract-peer")).not.toBeNull();
    }
    expect((await request(`${served.url}/nothing`)).headers.get("tesseract-peer")).not.toBeNull();
  });

  test("has ended once it was answered", async () => {
    const served = await serve();
    await call(served, { ...headers, "tesseract-call": "done" });
    expect((await ask(served, "done")).get("tesseract-ended")).toBe("done");
  });
});

describe("agreements", () => {
  const heard: string[] = [];
  const serveGreeting = (options: ServeOptions = {}) => {
    heard.length = 0;
    return serve({ transports: [greetingGpu(folder, heard), host()], ...options });
  };

  test("are one for each client that has a name, until it takes leave", async () => {
    const served = await serveGreeting();
    for (const peer of ["one", "two", "one"]) {
      const { headers } = await call(served, {
        "tesseract-peer": peer,
        "tesseract-exports-done": "",
        "tesseract-fake": `I am ${peer}`,
      });
      expect(headers.get("tesseract-fake")).toBe(`hello the client ${peer}`);
    }
    expect(living.sessions).toBe(2);
    expect(heard).toEqual(["I am one", "I am two", "I am one"]);
    await request(`${served.url}/health`, { headers: { "tesseract-peer": "one", "tesseract-fake": "goodbye" } });
    await until(() => living.sessions === 1);
    await served.close();
    expect(living.sessions).toBe(0);
  });

  test("end with a client that says nothing any more", async () => {
    const served = await serveGreeting({ exportTimeLimit: 200 });
    await call(served, { "tesseract-peer": "one" });
    expect(living.sessions).toBe(1);
    await until(() => living.sessions === 0);
  });

  test("aren't made with clients that have no name", async () => {
    const served = await serveGreeting();
    const { headers } = await call(served);
    expect([headers.get("tesseract-fake"), living.sessions]).toEqual([null, 0]);
  });
});

/** What a server answers a check with. */
async function checked({ url }: Serving, body: unknown): Promise<unknown> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return (await request(`${url}/check_gpu_transport`, init)).json;
}

describe("serving a GPU transport", () => {
  test("is refused for endpoints that can't take GPU arrays, and without the transport", async () => {
    const options = { port: 0, gpuTransport: "cuda_ipc" } as const;
    expect(await failureOf(() => serving(work, { ...options, transports: [fakeGpu(folder), host()] }))).toEqual(
      tesseractError("INVALID_ARGUMENT", "gpuArrays"),
    );
    expect(await failureOf(() => serving(definition, options))).toEqual(
      tesseractError("TRANSPORT_MISSING", "cuda_ipc"),
    );
  });

  test("that can't be used here starts, with a warning, and says why to those who check", async () => {
    const unusable = { ...fakeGpu(folder), probe: async () => ({ ok: false, reason: "no driver" }) as const };
    const warnings = vi.spyOn(process, "emitWarning").mockReturnValue();
    const served = await serving(definition, { port: 0, gpuTransport: "cuda_ipc", transports: [unusable, host()] });
    expect(warnings.mock.calls).toEqual([
      [expect.stringContaining("no driver"), expect.objectContaining({ code: "TRANSPORT_UNUSABLE" })],
    ]);
    warnings.mockRestore();
    expect(await checked(served, { gpu_transport: "cuda_ipc", array: {}, expected: "" })).toEqual({
      ok: false,
      reason: 'The server can\'t use "cuda_ipc": no driver',
    });
  });

  test("is advertised, and nothing of it is decoded where it isn't enabled", async () => {
    const served = await serve();
    expect((await request(`${served.url}/openapi.json`)).json).toMatchObject({
      "x-supported-gpu-transports": ["none", "cuda_ipc"],
    });
    const plain = await serving(definition, { transports: [fakeGpu(folder), host()] });
    const refused = await call(plain, { accept: "*/*" });
    expect(refused.json).toMatchObject({ detail: [{ type: "array_decode_error" }] });
    expect((await call(plain)).status).toBe(422);
    const accept = "application/json; gpu_transport=cuda_ipc";
    expect((await apply(plain, { x: [1] }, { headers: { accept } })).status).toBe(406);
  });

  test("answers checks that fail with the reason", async () => {
    const served = await serve();
    const check = (body: unknown) => checked(served, body);
    const { arrays, lease } = await fakeGpu(folder).encodeCheck(new Uint8Array(256).fill(7), {});
    const good = { gpu_transport: "cuda_ipc", array: arrays[0], expected: Buffer.alloc(256, 7).toString("base64") };
    expect(await check(good)).toMatchObject({ ok: true, array: { shape: [256], dtype: "uint8" } });
    for (const bad of [
      { ...good, expected: Buffer.alloc(256, 8).toString("base64") },
      { ...good, expected: 7 },
      { ...good, gpu_transport: "none" },
      { ...good, gpu_transport: "other" },
      { ...good, array: { ...arrays[0], shape: [2, 128] } },
      { ...good, array: { ...arrays[0], data: { encoding: "base64", buffer: "" } } },
      { gpu_transport: "cuda_ipc" },
      [],
    ]) {
      expect(await check(bad)).toEqual({ ok: false, reason: expect.any(String) });
    }
    await lease?.release();
    expect(await check(good)).toEqual({ ok: false, reason: expect.stringContaining("no such allocation") });
  });
});
