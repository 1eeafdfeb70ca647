// Serves a tesseract_api.py with the reference runtime, until it is closed or this process ends.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export interface Server extends AsyncDisposable {
  readonly url: string;
}

/** How long it may take to answer for the first time, and to stop when asked to. */
const START_MS = 60_000;
const STOP_MS = 3_000;

/** The server reads this descriptor, and stops when the pipe ends: with us, however we end. */
const PARENT_PIPE_FD = 3;

export async function serve(api: URL, signal: AbortSignal): Promise<Server> {
  const runtime = fileURLToPath(new URL("../../.venv/bin/tesseract-runtime", import.meta.url));
  if (!existsSync(runtime)) throw new Error("There is no Python environment yet: `npm start` makes it.");
  const port = await freePort();
  const outputPath = await mkdtemp(join(tmpdir(), "heat-"));
  const child = spawn(
    runtime,
    ["serve", "--host", "127.0.0.1", "--port", `${port}`, "--parent-pipe-fd", `${PARENT_PIPE_FD}`],
    {
      env: { ...process.env, ...settings({ API_PATH: fileURLToPath(api), OUTPUT_PATH: outputPath }) },
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      detached: true, // a process group of its own, to be stopped as one
    },
  );
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-10_000);
    });
  }
  let running = true;
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => {
      log += error.message;
    });
    child.once("close", () => {
      running = false;
      resolve();
    });
  });
  const kill = (how: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, how);
    } catch {
      // It has ended.
    }
  };
  const stop = async () => {
    if (running) kill("SIGTERM");
    await Promise.race([ended, sleep(STOP_MS)]);
    kill("SIGKILL");
    await ended;
    await rm(outputPath, { recursive: true, force: true });
  };

  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + START_MS;
  while (running && Date.now() < deadline && !signal.aborted) {
    const response = await fetch(`${url}/health`, { signal }).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return { url, [Symbol.asyncDispose]: stop };
    await Promise.race([ended, sleep(50)]);
  }
  await stop();
  signal.throwIfAborted();
  throw new Error(`The server didn't start:\n${log}`);
}

/** Each under both of its names: the longer one wins, and may be set already. */
const settings = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => [
      [`TESSERACT_${name}`, value],
      [`TESSERACT_RUNTIME_${name}`, value],
    ]),
  );

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("No port is free.");
  return address.port;
}
