import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  type RunningServer,
  type ServerLaunch,
  type ServerOptions,
  startServer,
} from "../../src/start/start-server.js";
import { MARK, processesMarked } from "./left-behind.js";

const program = fileURLToPath(new URL("servers/server.mjs", import.meta.url));
const mark = randomBytes(8).toString("hex");
/** Long, for machines with much else to do. */
const PATIENT: ServerOptions = { startTimeout: 120_000 };
const LIMIT_MS = 120_000;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "start-server-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(async () => {
  await expect.poll(() => processesMarked(mark), { timeout: 60_000 }).toEqual([]);
});

const launch = (faults: readonly string[] = [], more: Partial<ServerLaunch> = {}): ServerLaunch => ({
  what: "The server of the test",
  command: (port) => ({
    command: process.execPath,
    args: [program, String(port), ...faults],
    env: { PATH: process.env.PATH ?? "", [MARK]: mark },
  }),
  ...more,
});

async function failureOf(start: Promise<RunningServer>): Promise<TesseractError> {
  const error: unknown = await start.then(
    (server) => server.stop(),
    (reason) => reason,
  );
  if (error instanceof TesseractError) return error;
  throw new Error("It was started");
}

async function occupied(): Promise<{ readonly port: number; readonly server: Server }> {
  const server = createServer((_, response) => response.end("somebody else"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { port: (server.address() as AddressInfo).port, server };
}

describe("a server that is started", { timeout: LIMIT_MS }, () => {
  test("answers where it says, and no longer once it is stopped", async () => {
    const server = await startServer(launch(), PATIENT);
    expect((await fetch(`${server.url}/health`)).status).toBe(200);
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(server.log).toEqual([`listening on ${server.port}`]);
    expect(server.end).toBeUndefined();
    await Promise.all([server.stop(), server.stop()]);
    await expect(fetch(`${server.url}/health`)).rejects.toThrow();
    expect(await server.ended).toEqual({ kind: "killed", signal: "SIGTERM" });
  });

  test("tells each line that it prints", async () => {
    const lines: string[] = [];
    const server = await startServer(launch(), { ...PATIENT, onLog: (line) => lines.push(line) });
    await server.stop();
    expect(lines).toEqual([`listening on ${server.port}`]);
  });

  test("has its folders while it runs", async () => {
    const own = join(folder, "own");
    const inner = join(own, "inner");
    const server = await startServer(launch([], { folders: [own, inner] }), PATIENT);
    expect(statSync(inner).mode & 0o777).toBe(0o700);
    await server.stop();
    expect(existsSync(own)).toBe(false);
  });

  test("is cleaned up after by a command", async () => {
    const note = join(folder, "note");
    const cleanup = [
      {
        command: process.execPath,
        args: ["-e", `require("node:fs").writeFileSync(${JSON.stringify(note)}, process.env.WHAT)`],
        env: { WHAT: "cleaned" },
      },
    ];
    const server = await startServer(launch([], { cleanup }), PATIENT);
    expect(existsSync(note)).toBe(false);
    await server.stop();
    expect(readFileSync(note, "utf8")).toBe("cleaned");
  });

  test("is killed when it doesn't end in time, with all that it started", async () => {
    const server = await startServer(launch(["ignore SIGTERM", "child"]), { ...PATIENT, stopTimeout: 50 });
    expect(processesMarked(mark)).toHaveLength(2);
    await server.stop();
    expect(await server.ended).toEqual({ kind: "killed", signal: "SIGKILL" });
    expect(processesMarked(mark)).toEqual([]);
  });

  test("that ends by itself says how, and what it printed", async () => {
    const server = await startServer(launch(), PATIENT);
    process.kill(server.processId, "SIGKILL");
    expect(await server.ended).toEqual({ kind: "killed", signal: "SIGKILL" });
    expect(server.end).toEqual({ kind: "killed", signal: "SIGKILL" });
    await server.stop();
  });

  test("ends, and its folders, when the guard between it and this process is killed", async () => {
    const own = join(folder, "guarded");
    const server = await startServer(launch(["ignore SIGTERM", "child"], { folders: [own] }), PATIENT);
    const status = readFileSync(`/proc/${server.processId}/status`, "utf8");
    process.kill(Number(/^PPid:\t(\d+)/m.exec(status)?.[1]), "SIGKILL");
    expect(await server.ended).toEqual({ kind: "lost" });
    await server.stop();
    expect(existsSync(own)).toBe(false);
  });
});

describe("a start that fails", { timeout: LIMIT_MS }, () => {
  test("as the process ends says how it ended, with the last lines", async () => {
    const error = await failureOf(startServer(launch(["die"]), PATIENT));
    expect(error.code).toBe("START_FAILED");
    expect(error.message).toBe("The server of the test ended with exit code 3 before it answered");
    expect(error.log).toEqual(["first", "last words"]);
  });

  test("as it is killed says by what", async () => {
    const error = await failureOf(startServer(launch(["be killed"]), PATIENT));
    expect(error.message).toContain("was killed by SIGKILL");
  });

  test("as there is no such program says so", async () => {
    const command = () => ({ command: "/nowhere/server", args: [], env: {} });
    const error = await failureOf(startServer(launch([], { command }), PATIENT));
    expect(error.code).toBe("START_FAILED");
    expect(error.message).toContain("/nowhere/server ENOENT");
  });

  test("as a folder is there already says so", async () => {
    const error = await failureOf(startServer(launch([], { folders: [folder] }), PATIENT));
    expect(error.message).toContain("EEXIST");
    expect(existsSync(folder)).toBe(true);
  });

  test("as it never answers is over in time, and leaves nothing", async () => {
    const own = join(folder, "late");
    const error = await failureOf(
      startServer(launch(["silent", "ignore SIGTERM", "child"], { folders: [own] }), { startTimeout: 300 }),
    );
    expect(error.code).toBe("START_TIMED_OUT");
    expect(error.hint).toContain("startTimeout");
    expect(processesMarked(mark)).toEqual([]);
    expect(existsSync(own)).toBe(false);
  });

  test("as it is aborted leaves nothing", async () => {
    const own = join(folder, "aborted");
    const controller = new AbortController();
    const start = startServer(launch(["silent"], { folders: [own] }), { ...PATIENT, signal: controller.signal });
    await expect.poll(() => processesMarked(mark), { timeout: 60_000 }).toHaveLength(1);
    controller.abort("enough");
    const error = await failureOf(start);
    expect(error.code).toBe("ABORTED");
    expect(error.cause).toBe("enough");
    expect(existsSync(own)).toBe(false);
  });

  test("can say more of itself", async () => {
    const explain: ServerLaunch["explain"] = ({ log }) => ({ code: "LOAD_FAILED", hint: `It said: ${log.at(-1)}` });
    const error = await failureOf(startServer(launch(["die"], { explain }), PATIENT));
    expect(error).toMatchObject({ code: "LOAD_FAILED", hint: "It said: last words" });
  });
});

describe("the port", { timeout: LIMIT_MS }, () => {
  test("that is taken is refused", async () => {
    const { port, server } = await occupied();
    const error = await failureOf(startServer(launch(), { ...PATIENT, port }));
    server.close();
    expect(error.code).toBe("PORT_TAKEN");
    expect(error.message).toBe(`The server of the test can't be started: port ${port} is taken`);
  });

  test("is the first free one of a range", async () => {
    const { port, server } = await occupied();
    const started = await startServer(launch(), { ...PATIENT, port: `${port}-${port + 20}` });
    expect(started.port).toBeGreaterThan(port);
    await started.stop();
    server.close();
  });

  test("of a range that is taken as a whole is refused", async () => {
    const { port, server } = await occupied();
    const error = await failureOf(startServer(launch(), { ...PATIENT, port: `${port}-${port}` }));
    server.close();
    expect(error.message).toContain(`all ports from ${port} to ${port} are taken`);
  });

  test("that is taken meanwhile is replaced by another", async () => {
    const { port: taken, server } = await occupied();
    const ports: number[] = [];
    const { command, ...rest } = launch();
    const started = await startServer(
      {
        ...rest,
        command: (port) => {
          ports.push(port);
          return command(ports.length === 1 ? taken : port);
        },
      },
      PATIENT,
    );
    expect(ports).toHaveLength(2);
    expect(started.port).toBe(ports[1]);
    await started.stop();
    server.close();
  });

  test("at which another program answers in the server's place isn't believed", async () => {
    const others: Server[] = [];
    const { command, ...rest } = launch();
    const started = await startServer(
      {
        ...rest,
        command: async (port) => {
          if (others.length > 0) return command(port);
          // The server is silent, and the other one takes the port that was chosen for it.
          const other = createServer((_, response) => response.end("somebody else"));
          others.push(other);
          await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
          return launch(["silent"]).command(port);
        },
      },
      PATIENT,
    );
    expect(others.map((other) => (other.address() as AddressInfo).port)).not.toContain(started.port);
    await started.stop();
    for (const other of others) other.close();
  });

  test.each(["", "port", "-1", "70000", "9-8", "0-100", 1.5])("%j is none", async (port) => {
    expect((await failureOf(startServer(launch(), { port }))).code).toBe("INVALID_ARGUMENT");
  });
});

test("a time limit must be one", async () => {
  for (const options of [{ startTimeout: 0 }, { stopTimeout: -1 }, { startTimeout: Number.NaN }]) {
    expect((await failureOf(startServer(launch(), options))).code).toBe("INVALID_ARGUMENT");
  }
});

test("nothing of it is left in the folder", () => {
  expect(readdirSync(folder)).toEqual(["note"]);
});
