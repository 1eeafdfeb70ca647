/** Measures how long calls take, and how many go through at once. */

export interface MeasureOptions {
  /** Milliseconds for one after the other, and again for several at once. */
  readonly milliseconds: number;
  /** Calls at once. */
  readonly connections: number;
  readonly signal: AbortSignal;
}

export interface Measured {
  /** Milliseconds of a call, with nothing else going on. */
  readonly median: number;
  readonly p95: number;
  readonly calls: number;
  /** A second, with `connections` at once. */
  readonly perSecond: number;
}

const WARM_UP_CALLS = 3;
/** Of calls one after the other, whatever their time. */
const LEAST_CALLS = 5;

export async function measure(
  call: () => Promise<unknown>,
  { milliseconds, connections, signal }: MeasureOptions,
): Promise<Measured> {
  for (let count = 0; count < WARM_UP_CALLS; count++) await call();
  const times: number[] = [];
  const until = performance.now() + milliseconds;
  while (times.length < LEAST_CALLS || performance.now() < until) {
    signal.throwIfAborted();
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  return {
    median: quantile(times, 0.5),
    p95: quantile(times, 0.95),
    calls: times.length,
    perSecond: await throughput(call, { milliseconds, connections, signal }),
  };
}

async function throughput(
  call: () => Promise<unknown>,
  { milliseconds, connections, signal }: MeasureOptions,
): Promise<number> {
  const began = performance.now();
  const until = began + milliseconds;
  let done = 0;
  const line = async (): Promise<void> => {
    do {
      signal.throwIfAborted();
      await call();
      done++;
    } while (performance.now() < until);
  };
  await Promise.all(Array.from({ length: connections }, line));
  return (1000 * done) / (performance.now() - began);
}

/** Of sorted values; the nearest one. */
const quantile = (sorted: readonly number[], part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
