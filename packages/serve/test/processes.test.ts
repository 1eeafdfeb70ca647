/** Several worker processes for one address. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hostArray } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ServedTesseract, serve } from "../src/index.js";
import { FakeGpuArray, fakeGpu } from "./fake-gpu.js";
import {
  type Answer,
  apply,
  failureOf,
  RawConnection,
  request,
  tesseractError,
  tesseractFile,
  until,
} from "./support.js";
import definition from "./tesseracts/work.js";

let folder: string;
let gpuFolder: string;
let served: ServedTesseract;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-processes-"));
  gpuFolder = join(folder, "gpu");
  process.env.FAKE_GPU_FOLDER = gpuFolder;
  served = await serve(tesseractFile("pids"), {
    port: 0,
    workers: 2,
    inputPath: folder,
    outputPath: join(folder, "out"),
    transports: tesseractFile("fake-gpu-transports"),
    gpuTransport: "cuda_ipc",
    metrics: true,
    headersTimeout: 500,
  });
});
afterAll(async () => {
  await served?.close();
  delete process.env.FAKE_GPU_FOLDER;
  await rm(folder, { recursive: true, force: true });
});

/** Each request over a connection of its own, so that the processes take turns. */
const call = (inputs: object = {}, headers: Record<string, string> = {}): Promise<Answer> =>
  apply(served, inputs, { headers: { connection: "close", ...headers } });

const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  request(served.url + path, { headers: { connection: "close", ...headers } });

const pidOf = ({ json }: Answer): number => (json as { pid: number }).pid;

async function pids(): Promise<number[]> {
  const seen = await Promise.all(Array.from({ length: 8 }, () => call()));
  return [...new Set(seen.map(pidOf))];
}

const exported = async (): Promise<string[]> =>
  (await readdir(gpuFolder)).filter((name) => !name.startsWith(`${process.pid}-`));

/** A call whose answer exports: by the process that answered. */
async function exporting(headers: Record<string, string> = {}): Promise<Answer & { ids: string }> {
  using x = new FakeGpuArray(new Uint8Array(hostArray([1, 2]).data.buffer), [2], "<f8");
  const { arrays, lease } = await fakeGpu(gpuFolder).encode([x], { compression: "none" });
  const accept = "application/json; gpu_transport=cuda_ipc";
  const answer = await call({ x: arrays[0] }, { accept, ...headers });
  await lease?.release();
  return { ...answer, ids: answer.headers.get("tesseract-exports") ?? "" };
}

describe("requests", () => {
  test("are answered by all processes, none of which is this one", async () => {
    const seen = await pids();
    expect(seen).toHaveLength(2);
    expect(seen).not.toContain(process.pid);
  });

  test("of one process don't wait for another's", async () => {
    const slow = call({ milliseconds: 1500 });
    let answered = false;
    void slow.then(() => {
      answered = true;
    });
    await call();
    expect(answered).toBe(false);
    await slow;
  });

  test("that send their heads too slowly are ended here too", async () => {
    await using slow = new RawConnection(served.port);
    await slow.write("POST /apply HTTP/1.1\r\nHost: loc");
    await slow.closed;
    expect(slow.received).toMatch(/^HTTP\/1.1 408/);
  });
});

describe("exports", () => {
  const acknowledging = { "tesseract-exports-done": "" };

  test("end when they are acknowledged, to whichever process", async () => {
    const answers = [await exporting(acknowledging), await exporting(acknowledging)];
    expect(new Set(answers.map(pidOf)).size).toBe(2);
    expect(await exported()).toHaveLength(2);
    const ids = answers.map((answer) => answer.ids).join(",");
    await get("/health", { "tesseract-exports-done": ids });
    await until(async () => (await exported()).length === 0);
  });

  test("of clients that acknowledge nothing end with the next call, to whichever process", async () => {
    for (let i = 0; i < 4; i++) {
      await exporting();
      expect(await exported()).toHaveLength(1);
    }
    await call();
    expect(await exported()).toHaveLength(0);
  });

  test("of checks are acknowledged to any process", async () => {
    const { arrays, lease } = await fakeGpu(gpuFolder).encodeCheck(new Uint8Array(256), {});
    const body = JSON.stringify({
      gpu_transport: "cuda_ipc",
      array: arrays[0],
      expected: Buffer.alloc(256).toString("base64"),
    });
    const answer = await request(`${served.url}/check_gpu_transport`, {
      method: "POST",
      headers: { "content-type": "application/json", connection: "close" },
      body,
    });
    expect(answer.json).toMatchObject({ ok: true });
    await lease?.release();
    const id = answer.headers.get("tesseract-exports") ?? "";
    await get("/health");
    await get("/health", { "tesseract-exports-done": id });
    await until(async () => (await exported()).length === 0);
  });

  test("a call that was given up has ended only when no process reads it, and none takes it later", async () => {
    const body = '{"inputs":{}}';
    const half = new RawConnection(served.port);
    await half.write(
      `POST /apply HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nTesseract-Peer: me\r\nTesseract-Call: one\r\n\r\n{`,
    );
    await sleep(300);
    const ask = async (): Promise<(string | null)[]> =>
      Promise.all(
        [1, 2].map(async () =>
          (await get("/health", { "tesseract-given-up": "one,two", "tesseract-peer": "me" })).headers.get(
            "tesseract-ended",
          ),
        ),
      );
    expect(await ask()).toEqual(["two", "two"]);
    half.destroy();
    await until(async () => (await ask()).every((ended) => ended === "one,two"));
    const late = await Promise.all([1, 2].map(() => call({}, { "tesseract-call": "two", "tesseract-peer": "me" })));
    expect(late.map(({ status }) => status)).toEqual([409, 409]);
  });
});

describe("operators", () => {
  test("get one set of metrics for all processes", async () => {
    await Promise.all(Array.from({ length: 4 }, () => call()));
    const { text } = await get("/metrics");
    const counted = Number(/^tesseract_calls_total\{endpoint="apply",status="200"\} (\d+)$/m.exec(text)?.[1]);
    const again = Number(
      /^tesseract_calls_total\{endpoint="apply",status="200"\} (\d+)$/m.exec((await get("/metrics")).text)?.[1],
    );
    expect(counted).toBeGreaterThan(8);
    expect(again).toBe(counted);
  });
});

describe("a process that is killed", () => {
  test("is replaced, while the others answer", async () => {
    const before = await pids();
    await expect(call({ die: true })).rejects.toThrow();
    for (let i = 0; i < 4; i++) expect((await call()).status).toBe(200);
    await until(async () => {
      const now = await pids();
      return now.length === 2 && now.some((pid) => !before.includes(pid));
    });
  });
});

describe("processes that are killed while connections are on their way to them", () => {
  /** Two that are held up, connections on their way to them, and then the processes' ends. */
  async function killed(
    channelIsHeld: boolean,
    work: (served: ServedTesseract, late: readonly RawConnection[]) => Promise<void>,
  ): Promise<void> {
    await using stuck = await serve(tesseractFile("held-up"), { port: 0, workers: 2 });
    const ask = (inputs: object): Promise<Answer> => apply(stuck, inputs, { headers: { connection: "close" } });
    const answers = await Promise.all([ask({ channelIsHeld }), ask({ channelIsHeld })]);
    const found = answers.map(({ json }) => json as { pid: number; holder: number | null });
    const late: RawConnection[] = [];
    try {
      expect(new Set(found.map(({ pid }) => pid)).size).toBe(2);
      const sign = join(folder, "held-up");
      const held = Promise.allSettled([ask({ sign }), ask({ sign })]);
      await until(() => found.every(({ pid }) => existsSync(`${sign}-${pid}`)));
      for (let i = 0; i < 4; i++) late.push(new RawConnection(stuck.port));
      for (const connection of late) await connection.write("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await sleep(300);
      for (const { pid } of found) process.kill(pid, "SIGKILL");
      await work(stuck, late);
      expect((await held).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    } finally {
      for (const { holder } of found) if (holder !== null) process.kill(holder, "SIGKILL");
      for (const connection of late) connection.destroy();
    }
  }

  test("others answer them", () =>
    killed(false, async (_, late) => {
      await until(() => late.every(({ received }) => received.startsWith("HTTP/1.1 200")));
    }));

  test("or they end, where it isn't known what became of them", () =>
    killed(true, async ({ url }, late) => {
      await Promise.all(late.map(({ closed }) => closed));
      expect(late.map(({ received }) => received)).toEqual(["", "", "", ""]);
      expect((await request(`${url}/health`)).status).toBe(200);
    }));
});

describe("closing", () => {
  test("lets calls end, and leaves no process and no export", async () => {
    await exporting({ "tesseract-exports-done": "" });
    const before = await pids();
    const running = call({ milliseconds: 500 });
    await sleep(200);
    await served.close();
    expect((await running).status).toBe(200);
    for (const pid of before) expect(() => process.kill(pid, 0)).toThrow("ESRCH");
    expect(await exported()).toEqual([]);
    await expect(call()).rejects.toThrow();
  });
});

describe("worker processes", () => {
  test("need files, for what only this process has can't be given to them", async () => {
    const options = { port: 0, workers: 2 };
    expect(await failureOf(() => serve(definition, options))).toEqual(
      tesseractError("INVALID_ARGUMENT", "a definition", "path"),
    );
    const file = tesseractFile("work");
    expect(await failureOf(() => serve(file, { ...options, transports: [host()] }))).toEqual(
      tesseractError("INVALID_ARGUMENT", "transports", "module"),
    );
    expect(await failureOf(() => serve(file, { ...options, configure: () => {} }))).toEqual(
      tesseractError("INVALID_ARGUMENT", "configure"),
    );
  });

  test("that can't begin say why", async () => {
    expect(await failureOf(() => serve(join(folder, "missing.ts"), { port: 0, workers: 2 }))).toEqual(
      tesseractError("LOAD_FAILED", "missing.ts"),
    );
    expect(
      await failureOf(() => serve(tesseractFile("work"), { port: 0, workers: 2, outputFormat: "json+paper" })),
    ).toEqual(tesseractError("TRANSPORT_MISSING", "json+paper"));
  }, 240_000);
});
