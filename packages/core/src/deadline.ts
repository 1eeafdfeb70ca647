/** Ends a call on time, on its caller's wish, or when the Tesseract is closed. */
import type { CallOptions } from "./backend.js";
import { TesseractError } from "./errors.js";

/** The longest delay of `setTimeout`; a longer one would fire at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/**
 * Runs `work` with a signal that is aborted with a typed error when `signal` is, when `timeout` has passed, or when
 * `closing` is aborted; and rejects at once then, while `work` cleans up.
 *
 * @throws TesseractError TIMEOUT, ABORTED, CLOSED, INVALID_ARGUMENT; and what `work` throws
 */
export async function withDeadline<T>(
  { signal, timeout }: CallOptions,
  closing: AbortSignal,
  what: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (timeout !== undefined && !(timeout > 0)) {
    throw new TesseractError("INVALID_ARGUMENT", `A timeout of ${timeout} ms is none`, {
      hint: "Give a positive number of milliseconds, or leave it out to wait without limit.",
    });
  }
  const ended = new AbortController();
  const onAbort = (): void =>
    ended.abort(new TesseractError("ABORTED", `${what} was aborted`, { cause: signal?.reason }));
  const onClose = (): void => ended.abort(closing.reason);
  const timer =
    timeout === undefined || timeout > LONGEST_TIMEOUT
      ? undefined
      : setTimeout(() => ended.abort(timedOut(what, timeout)), timeout);
  try {
    if (closing.aborted) throw closing.reason;
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    closing.addEventListener("abort", onClose, { once: true });
    ended.signal.throwIfAborted();
    return await Promise.race([work(ended.signal), rejection(ended.signal)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    closing.removeEventListener("abort", onClose);
  }
}

const timedOut = (what: string, timeout: number): TesseractError =>
  new TesseractError("TIMEOUT", `${what} took longer than ${timeout} ms`, {
    hint: "The endpoint may still be running. Give the call a longer `timeout`, or none.",
  });

const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
