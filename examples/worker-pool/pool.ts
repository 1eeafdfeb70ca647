// The server in a process of its own, from its start to its end.

import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Pool extends AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly workers: number;
}

/** Milliseconds that it may take to end, after which it is killed. */
const PATIENCE_MS = 10_000;

export async function startPool(workers: number, signal: AbortSignal): Promise<Pool> {
  const folder = await mkdtemp(join(tmpdir(), "worker-pool-"));
  const child = fork(fileURLToPath(new URL("server.ts", import.meta.url)), {
    env: { ...process.env, WORKERS: String(workers), OUTPUT_PATH: folder },
  });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    if (child.connected) child.disconnect();
    const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE_MS);
    await ended;
    clearTimeout(timer);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const started = once(child, "message", { signal });
    const failed = ended.then(([status]) => {
      throw new Error(`The server ended with status ${status} before it answered.`);
    });
    const [url] = (await Promise.race([started, failed])) as [string];
    return { url, pid: child.pid ?? 0, workers, [Symbol.asyncDispose]: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
