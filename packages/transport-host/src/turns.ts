/** Long work in steps, between which the event loop gets its turn. */

/** How long work may go on in one turn. */
const TURN_MS = 8;

const nextTurn: () => Promise<void> =
  typeof setImmediate === "function"
    ? () => new Promise((resolve) => void setImmediate(resolve))
    : () => new Promise((resolve) => void setTimeout(resolve));

/**
 * Runs `steps` to their end.
 *
 * @throws the signal's reason, and what a step throws
 */
export async function inTurns<T>(
  steps: Iterable<T>,
  signal: AbortSignal | undefined,
  each?: (step: T) => void,
): Promise<void> {
  let began = performance.now();
  for (const step of steps) {
    each?.(step);
    if (performance.now() - began < TURN_MS) continue;
    await nextTurn();
    signal?.throwIfAborted();
    began = performance.now();
  }
}
