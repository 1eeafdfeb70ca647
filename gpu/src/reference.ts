/** The reference runtime: finds a Python that has it, and serves Tesseracts with `cuda_ipc`. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fromUrl, type Tesseract } from "@tesseract-ts/core";
import { cudaIpc } from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";
import { Skipped } from "./remote.js";

/** Versions of what a Python has; after `!` why it is of no use. */
export type PythonParts = Readonly<
  Record<"python" | "numpy" | "runtime" | "cudart" | "cupy" | "torch" | "jax", string>
>;

export type Python =
  | { readonly program: string; readonly parts: PythonParts }
  | { readonly program: string; readonly missing: string };

/** In a clone `rotate` and `echo` are the simulator's own; in a bundle all are in one folder. */
const folders = ["../python", "../../packages/cuda-simulator/test/interop/python"];
export type Served = "rotate" | "echo" | "libraries";

const START_MS = 60_000;
const STOP_MS = 2_000;

export async function findPython(asked: string | undefined, env: NodeJS.ProcessEnv): Promise<Python> {
  const inClone = fileURLToPath(new URL("../../.venv/bin/python", import.meta.url));
  const program = asked ?? (existsSync(inClone) ? inClone : "python3");
  const probe = fileURLToPath(new URL("../python/probe.py", import.meta.url));
  try {
    const { stdout } = await promisify(execFile)(program, [probe], { env: quiet(env), timeout: START_MS });
    // Libraries may print as they are imported.
    return { program, parts: JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as PythonParts };
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string };
    const reason =
      code === "ENOENT" ? "there is no such program" : (stderr?.trim().split("\n").at(-1) ?? String(error));
    return { program, missing: `${program} can't be used: ${reason}` };
  }
}

/** Servers of the reference runtime, each started when it is first asked for. */
export class ReferenceServers {
  private readonly started = new Map<Served, Promise<Server>>();
  private python: Promise<Python> | undefined;

  constructor(
    private readonly asked: string | undefined,
    private readonly env: NodeJS.ProcessEnv,
  ) {}

  /** @throws Skipped without a Python that can serve with `cuda_ipc` */
  async parts(): Promise<PythonParts> {
    return (await this.found()).parts;
  }

  async serve(name: Served): Promise<Server> {
    const { program } = await this.found();
    let server = this.started.get(name);
    if (server === undefined) {
      server = Server.start(program, apiPath(name), this.env);
      this.started.set(name, server);
    }
    return server;
  }

  async stop(): Promise<void> {
    const servers = await Promise.allSettled(this.started.values());
    await Promise.all(servers.map((each) => (each.status === "fulfilled" ? each.value.stop() : undefined)));
  }

  private async found(): Promise<Extract<Python, { parts: PythonParts }>> {
    this.python ??= findPython(this.asked, this.env);
    const python = await this.python;
    if ("missing" in python) throw new Skipped(python.missing);
    for (const part of ["numpy", "runtime", "cudart"] as const) {
      const version = python.parts[part];
      if (version.startsWith("!")) throw new Skipped(`${python.program}: ${part}: ${version.slice(1)}`);
    }
    return python;
  }
}

export class Server {
  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  static async start(python: string, apiPath: string, env: NodeJS.ProcessEnv): Promise<Server> {
    const folder = await mkdtemp(join(tmpdir(), "tesseract-gpu-"));
    await Promise.all([mkdir(join(folder, "in")), mkdir(join(folder, "out"))]);
    const port = await freePort();
    const settings = {
      API_PATH: apiPath,
      INPUT_PATH: join(folder, "in"),
      OUTPUT_PATH: join(folder, "out"),
      GPU_TRANSPORT: "cuda_ipc",
    };
    const args = [
      "-m",
      "tesseract_core.runtime",
      "serve",
      "--host",
      "127.0.0.1",
      "--port",
      `${port}`,
      "--parent-pipe-fd",
      "3",
    ];
    const child = spawn(python, args, {
      cwd: folder, // empty: `-m` puts it first on the import path
      env: { ...quiet(env), ...bothSpellings(settings) },
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      detached: true,
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-4_000);
      });
    }
    let ended: string | undefined;
    child.once("error", (error) => {
      ended = error.message;
    });
    child.once("exit", (code, signal) => {
      ended = `it ended with ${signal ?? code}`;
    });
    process.once("exit", () => rmSync(folder, { recursive: true, force: true })); // also if the suite is interrupted
    const server = new Server(child, folder, `http://127.0.0.1:${port}`);
    const deadline = Date.now() + START_MS;
    while (!(await isHealthy(server.url))) {
      if (ended === undefined && Date.now() < deadline) {
        await sleep(50);
        continue;
      }
      await server.stop();
      const last = said.trim().split("\n").slice(-5).join(" | ");
      throw new Error(`The reference server didn't start (${ended ?? "it doesn't answer"}): ${last}`);
    }
    return server;
  }

  /** A client with `cuda_ipc` and all of the host's transports; the caller closes it. */
  connect(): Promise<Tesseract> {
    const inputPath = join(this.folder, "in");
    const outputPath = join(this.folder, "out");
    return fromUrl(this.url, {
      transports: [cudaIpc(), host({ inputPath, outputPath })],
      timeout: 120_000,
      onWarning: () => {}, // what fails is asked for explicitly, and is an error then
    });
  }

  /** The reference leaves its output files; large ones would fill the disk. */
  async removeOutputs(): Promise<void> {
    const outputs = join(this.folder, "out");
    await rm(outputs, { recursive: true, force: true });
    await mkdir(outputs);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null && this.child.pid !== undefined) {
      const exited = new Promise((resolve) => this.child.once("exit", resolve));
      this.signal("SIGTERM");
      await Promise.race([exited, sleep(STOP_MS, undefined, { ref: false })]);
      this.signal("SIGKILL");
      await exited;
    }
    for (const stream of this.child.stdio) stream?.destroy();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  private signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-(this.child.pid ?? 0), signal);
    } catch (error) {
      if ((error as { code?: string }).code !== "ESRCH") throw error;
    }
  }
}

async function isHealthy(url: string): Promise<boolean> {
  const response = await fetch(`${url}/health`).catch(() => undefined);
  await response?.arrayBuffer();
  return response?.ok === true;
}

function apiPath(name: Served): string {
  const found = folders
    .map((folder) => fileURLToPath(new URL(`${folder}/${name}/tesseract_api.py`, import.meta.url)))
    .find((path) => existsSync(path));
  if (found === undefined) throw new Skipped(`the Tesseract ${name} isn't there: ${folders.join(", ")}`);
  return found;
}

const bothSpellings = (settings: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => [
      [`TESSERACT_${name}`, value],
      [`TESSERACT_RUNTIME_${name}`, value],
    ]),
  );

/** JAX would take most of the GPU's memory otherwise. */
const quiet = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...env,
  PYTHONDONTWRITEBYTECODE: "1",
  XLA_PYTHON_CLIENT_PREALLOCATE: "false",
});

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });
}
