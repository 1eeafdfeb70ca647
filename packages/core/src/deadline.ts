/** Ends a call on time, on its caller's wish, or when the Tesseract is closed. */
import type { CallOptions } from "./backend.js";
import type { Closing } from "./closing.js";
import { TesseractError } from "./errors.js";

/** The longest delay of `setTimeout`; a longer one would fire at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

/**
 * Runs `work` with a signal that is aborted with a typed error when `signal` is, when `timeout` has passed, or when
 * `closing` is closed; and rejects at once then, while `work` cleans up.
 *
 * @throws TesseractError TIMEOUT, ABORTED, CLOSED, INVALID_ARGUMENT; and what `work` throws
 */
export async function withDeadline<T>(
  { signal, timeout }: CallOptions,
  closing: Closing,
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
  const timer =
    timeout === undefined || timeout > LONGEST_TIMEOUT
      ? undefined
      : setTimeout(() => ended.abort(timedOut(what, timeout)), timeout);
  try {
    closing.add(ended);
    if (signal?.aborted) onAbort();
    else if (signal !== undefined) follow(signal, onAbort);
    ended.signal.throwIfAborted();
    return await Promise.race([work(ended.signal), rejection(ended.signal)]);
  } finally {
    clearTimeout(timer);
    if (signal !== undefined) unfollow(signal, onAbort);
    closing.delete(ended);
  }
}

/** What ends with each of the callers' signals: one listener for all of it, for many calls may share a signal too. */
const followers = new WeakMap<AbortSignal, { readonly calls: Set<() => void>; readonly onAbort: () => void }>();

function follow(signal: AbortSignal, end: () => void): void {
  const known = followers.get(signal);
  if (known !== undefined) {
    known.calls.add(end);
    return;
  }
  const calls = new Set([end]);
  const onAbort = (): void => {
    for (const each of calls) each();
  };
  followers.set(signal, { calls, onAbort });
  signal.addEventListener("abort", onAbort, { once: true });
}

function unfollow(signal: AbortSignal, end: () => void): void {
  const known = followers.get(signal);
  if (known === undefined || !known.calls.delete(end) || known.calls.size > 0) return;
  signal.removeEventListener("abort", known.onAbort);
  followers.delete(signal);
}

const timedOut = (what: string, timeout: number): TesseractError =>
  new TesseractError("TIMEOUT", `${what} took longer than ${timeout} ms`, {
    hint: "The endpoint may still be running. Give the call a longer `timeout`, or none.",
  });

const rejection = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
