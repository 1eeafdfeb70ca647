// The unmodified reference, as server and as client, on a simulated machine.

import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RunOptions, RunResult, SimulatedCuda } from "../../src/machine/simulated-cuda.js";
import type { Trace } from "../../src/trace/trace.js";
import { root } from "../support.js";

const programs = fileURLToPath(new URL("python/", import.meta.url));
const environment = join(root, "../../.venv");
const python = join(environment, "bin/python");

/** What is missing of the reference, and how to get it. */
export const missingReference = (): string | undefined =>
  existsSync(python) ? undefined : "No Tesseract runtime in .venv: `node scripts/setup.mjs` makes it.";

/** Bytes that the client copied itself, explicitly and one copy each; the check's are not among them. */
export interface ClientReport {
  readonly uploads: readonly number[];
  readonly downloads: readonly number[];
}

/** How long a server may take until it answers, in milliseconds. */
const START = 60_000;

/** No implicit copy to the host. */
const STRICT = { TESSERACT_FORBID_DEVICE_HOST_COPY: "1" };

export interface ReferenceServer extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
}

/** Serves a fixture of `python/`, with cuda_ipc. */
export async function serve(
  cuda: SimulatedCuda,
  fixture: "rotate" | "echo",
  options: RunOptions = {},
): Promise<ReferenceServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "cuda-simulator-interop-"));
  const settings = {
    API_PATH: join(programs, fixture, "tesseract_api.py"),
    GPU_TRANSPORT: "cuda_ipc",
    INPUT_PATH: folder,
    OUTPUT_PATH: folder,
  };
  const env: Record<string, string> = { ...STRICT };
  for (const [name, value] of Object.entries(settings)) {
    env[`TESSERACT_${name}`] = value;
    env[`TESSERACT_RUNTIME_${name}`] = value;
  }
  const runtime = join(environment, "bin/tesseract-runtime");
  const program = await cuda.spawn(runtime, ["serve", "--host", "127.0.0.1", "--port", String(port)], {
    ...options,
    env: { ...env, ...options.env },
  });
  const end = async (): Promise<void> => {
    await program.end();
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  const until = performance.now() + START;
  while (performance.now() < until && program.isAlive) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    await answer?.arrayBuffer();
    if (answer?.ok) return { url, pid: program.pid, [Symbol.asyncDispose]: end };
    await sleep(50);
  }
  await end();
  throw new Error(`The reference doesn't serve ${fixture}:\n${program.output.stderr.slice(-4000)}`);
}

/** Runs a scenario of `python/client.py`. */
export function runClient(
  cuda: SimulatedCuda,
  { url }: ReferenceServer,
  scenario: string,
  options: RunOptions = {},
): Promise<RunResult> {
  return cuda.run(python, [join(programs, "client.py"), url, scenario], {
    timeout: 120_000,
    ...options,
    env: { ...STRICT, ...options.env },
  });
}

/** The JSON lines that a client printed. */
export const printed = ({ stdout }: RunResult): readonly unknown[] =>
  stdout
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));

/** The bytes of each copy of a process in one direction, in order. */
export const copies = (trace: Trace, pid: number, direction: "HtoD" | "DtoH" | "HtoH"): readonly number[] =>
  trace.filter({ pid, library: "driver" }).calls.flatMap((call) => {
    return call.direction === direction && call.result === 0 ? [call.bytes ?? Number.NaN] : [];
  });

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      resolve(address !== null && typeof address === "object" ? address.port : 0);
    });
  });
  await new Promise((closed) => server.close(closed));
  return port;
}
