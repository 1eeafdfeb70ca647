/** Times of something that is done several times. */
import type { Timing } from "../results.js";

/** As many runs as fit, and at least one, after one that isn't counted. */
const MOST_RUNS = 9;
const PATIENCE_MS = 1_500;

export async function timed(work: () => Promise<void>): Promise<Timing> {
  await work();
  const times: number[] = [];
  const start = performance.now();
  while (times.length < MOST_RUNS && (times.length === 0 || performance.now() - start < PATIENCE_MS)) {
    const before = performance.now();
    await work();
    times.push(performance.now() - before);
  }
  times.sort((a, b) => a - b);
  const middle = (times.length - 1) / 2;
  const median = ((times[Math.floor(middle)] ?? 0) + (times[Math.ceil(middle)] ?? 0)) / 2;
  return { median, least: times[0] ?? 0, runs: times.length };
}

export const millisecondsOf = (timing: Timing): number | undefined => ("median" in timing ? timing.median : undefined);
