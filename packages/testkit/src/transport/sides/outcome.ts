/** What came of a call, as plain data, and calls that are aborted. */
import { TesseractError } from "@tesseract-ts/core";
import type { Failure, Outcome } from "./side.js";

export async function settle<T>(work: () => T | Promise<T>, reason?: unknown): Promise<Outcome<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, failure: failureOf(error, reason), taken: 0 };
  }
}

/** @param reason that the call's signal was aborted with, if it was */
function failureOf(error: unknown, reason?: unknown): Failure {
  if (reason !== undefined && error === reason) return { kind: "aborted" };
  if (error instanceof TesseractError) return { kind: "typed", code: error.code, message: error.message };
  return { kind: "other", message: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
}

/** Aborts after so many turns of the event loop, which is the same on a busy machine. */
export function abortAfter(turns: number | undefined): { readonly signal?: AbortSignal; readonly reason?: unknown } {
  if (turns === undefined) return {};
  const controller = new AbortController();
  const reason = new Error("The conformance suite has aborted this");
  const wait = (left: number): void => {
    if (left === 0) controller.abort(reason);
    else setImmediate(() => wait(left - 1));
  };
  wait(turns);
  return { signal: controller.signal, reason };
}
