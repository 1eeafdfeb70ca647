/** Waits until a server answers. */
import { setTimeout as sleep } from "node:timers/promises";

/** Milliseconds that an answer may take: what accepts a connection isn't always a server. */
const ANSWER_MS = 5_000;
/** Milliseconds between questions, at first and at most. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;

/** Resolves when `/health` is answered with 200; rejects when the signal is aborted. */
export async function waitForHealth(url: string, signal: AbortSignal): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; !(await isHealthy(url, signal)); pause = Math.min(1.5 * pause, LONGEST_PAUSE_MS)) {
    await sleep(pause, undefined, { signal });
  }
}

export async function isHealthy(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    const answer = await fetch(`${url}/health`, {
      // A connection of its own each time, so that none is left open.
      headers: { connection: "close" },
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    });
    await answer.arrayBuffer();
    return answer.status === 200;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
