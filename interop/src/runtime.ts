// Serves a fixture Tesseract with the reference runtime, for as long as a test needs it.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { environmentWithoutTesseract, findPython, type RuntimeVersion } from "./python.js";

export type Fixture = "arrays" | "faults" | "identity" | "plain" | "trees" | "vectors";

export interface RuntimeOptions {
  /** A folder of `interop/fixtures`, or the path of any `tesseract_api.py`. */
  fixture: Fixture | (string & {});
  version?: RuntimeVersion;
  /** Another interpreter, with a runtime of `version` beside it. */
  python?: string;
  /** More variables; they win over those that the other options set. */
  env?: Readonly<Record<string, string>>;
  outputFormat?: "json" | "json+base64" | "json+binref";
  compression?: "lz4";
  /** Tracebacks in error answers, and the `/test` endpoint. */
  debug?: boolean;
  /** Made and removed with the runtime unless given. */
  inputPath?: string;
  outputPath?: string;
  /** A free one unless given; give it to come back at an earlier runtime's address. */
  port?: number;
  /** How long it may take to answer `/health`, in milliseconds; 60,000 unless told. */
  startTimeout?: number;
}

export interface Runtime {
  readonly url: string;
  readonly port: number;
  readonly processId: number;
  readonly inputPath: string;
  readonly outputPath: string;
  /** Resolves when the process has ended, for whatever reason: its exit status, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** What the server printed so far. What an endpoint prints is in `<outputPath>/run_<run id>/logs/tesseract.log`. */
  logs(): string;
  /** The calls that the fixture `faults` began, each as `<endpoint> <action>`. */
  calls(): Promise<string[]>;
  /** Stops the server's process group, orderly first, and removes its folders. May be called again. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A server in the middle of a call doesn't stop when asked to. */
const ORDERLY_STOP_MS = 2_000;

/** The descriptor that the child reads for this process's end. */
const PARENT_PIPE_FD = 3;

/**
 * Starts a server and waits until it answers.
 *
 * ```ts
 * await using runtime = await startRuntime({ fixture: "vectors" });
 * await fetch(`${runtime.url}/health`);
 * ```
 */
export async function startRuntime(options: RuntimeOptions): Promise<Runtime> {
  const version = options.version ?? "1.15";
  const python = options.python ?? findPython(version);
  const apiPath = findFixture(options.fixture);
  const port = options.port ?? (await freePort());
  const debugPort = options.debug ? await freePort() : undefined;

  const folder = await mkdtemp(join(tmpdir(), "tesseract-interop-"));
  const inputPath = options.inputPath ?? join(folder, "input");
  const outputPath = options.outputPath ?? join(folder, "output");
  await Promise.all([mkdir(inputPath, { recursive: true }), mkdir(outputPath, { recursive: true })]);

  const settings = bothSpellings({
    API_PATH: apiPath,
    INPUT_PATH: inputPath,
    OUTPUT_PATH: outputPath,
    OUTPUT_FORMAT: options.outputFormat,
    COMPRESSION: options.compression,
    DEBUG: options.debug ? "1" : undefined,
    DEBUGPY_PORT: debugPort?.toString(),
  });
  const [command, args] = serveCommand(python, version, port);
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...environmentWithoutTesseract(), ...settings, ...options.env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true, // a process group of its own, to be stopped as one
  });
  const server = new ServerProcess(child, folder);
  try {
    await server.healthy(`http://127.0.0.1:${port}/health`, options.startTimeout ?? 60_000);
  } catch (error) {
    await server.stop();
    const reason = error instanceof Error ? error.message : String(error);
    const tail = server.log.trim().split("\n").slice(-20).join("\n");
    throw new Error(`The runtime ${version} with ${apiPath} ${reason}. The end of its log:\n${tail}`);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    processId: child.pid ?? 0,
    inputPath,
    outputPath,
    exited: server.exited,
    logs: () => server.log,
    calls: () => readLines(join(outputPath, "calls.txt")),
    stop: () => server.stop(),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

/** A child process in its own group, from its start to its end. */
class ServerProcess {
  log = "";
  readonly exited: Promise<number | NodeJS.Signals>;
  #running = true;
  #stopped: Promise<void> | undefined;

  constructor(
    readonly child: ChildProcess,
    readonly folder: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.log += text;
      });
    }
    this.exited = new Promise((resolve) => {
      const ended = (how: number | NodeJS.Signals) => {
        this.#running = false;
        process.off("exit", this.#killAtExit);
        resolve(how);
      };
      child.once("error", (error) => {
        this.log += `${error.message}\n`;
        ended(-1);
      });
      child.once("exit", (code, signal) => ended(signal ?? code ?? -1));
    });
    process.once("exit", this.#killAtExit);
  }

  /** The pipe tells an orphan to stop, which one that is busy doesn't heed. */
  readonly #killAtExit = (): void => this.#signal("SIGKILL");

  #signal(signal: NodeJS.Signals): void {
    if (this.child.pid === undefined) return;
    try {
      process.kill(-this.child.pid, signal);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }

  async healthy(url: string, timeout: number): Promise<void> {
    const deadline = Date.now() + timeout;
    while (this.#running) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`didn't answer within ${timeout} ms`);
      const response = await fetch(url, { signal: AbortSignal.timeout(left) }).catch(() => undefined);
      await response?.arrayBuffer();
      if (response?.ok && this.#running) return;
      await Promise.race([sleep(50), this.exited]);
    }
    throw new Error(`ended with ${await this.exited} before it answered`);
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    if (this.#running) this.#signal("SIGTERM");
    await Promise.race([this.exited, sleep(ORDERLY_STOP_MS, undefined, { ref: false })]);
    // The leader may be gone and its workers not.
    this.#signal("SIGKILL");
    await this.exited;
    for (const stream of this.child.stdio) stream?.destroy();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

function serveCommand(python: string, version: RuntimeVersion, port: number): [command: string, args: string[]] {
  const script = join(dirname(python), "tesseract-runtime");
  const serve = ["serve", "--host", "127.0.0.1", "--port", `${port}`];
  if (version === "1.15") return [script, [...serve, "--parent-pipe-fd", `${PARENT_PIPE_FD}`]];
  const wrapper = fileURLToPath(new URL("run-until-pipe-ends.py", import.meta.url));
  return [python, [wrapper, `${PARENT_PIPE_FD}`, script, ...serve]];
}

/** Each setting under both of its names, since the second wins and may be set where the tests run. */
function bothSpellings(settings: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined) continue;
    variables[`TESSERACT_${name}`] = value;
    variables[`TESSERACT_RUNTIME_${name}`] = value;
  }
  return variables;
}

function findFixture(fixture: string): string {
  if (existsSync(fixture) && fixture.endsWith(".py")) return fixture;
  const path = fileURLToPath(new URL(`../fixtures/${fixture}/tesseract_api.py`, import.meta.url));
  if (!existsSync(path)) throw new Error(`No fixture "${fixture}": ${path} doesn't exist.`);
  return path;
}

const portsGivenOut = new Set<number>();

/** A port that was free a moment ago, and that nobody else in this process was given. */
async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer();
    const port = await new Promise<number>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(address !== null && typeof address === "object" ? address.port : 0);
      });
    });
    await new Promise((resolve) => server.close(resolve));
    if (portsGivenOut.has(port)) continue;
    portsGivenOut.add(port);
    return port;
  }
}

async function readLines(path: string): Promise<string[]> {
  if (!existsSync(path)) return [];
  return (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
}
