// Calls a Tesseract for many parameters, some at a time, until each has its answer.

import { setTimeout as sleep } from "node:timers/promises";
import { type HostArray, type Tesseract, TesseractError } from "@tesseract-ts/core";

export interface Pendulum {
  inputs: { drive: number; periods?: number };
  outputs: { exponent: HostArray<"float64">; pid: number };
}

export interface Answer {
  readonly drive: number;
  readonly exponent: number;
  readonly pid: number;
}

export interface SweepOptions {
  readonly periods: number;
  /** Calls that are on their way at once. */
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Told of each answer. */
  readonly onAnswer: (answer: Answer, progress: Progress) => void;
}

export interface Progress {
  readonly done: number;
  readonly of: number;
  /** Calls that were answered with 503, and made again. */
  readonly busy: number;
  /** Calls that were lost with the process that had them, and made again. */
  readonly lost: number;
}

/** @returns the answers, in the order of `drives` */
export async function sweep(
  pendulum: Tesseract<Pendulum>,
  drives: readonly number[],
  { periods, concurrency, signal, onAnswer }: SweepOptions,
): Promise<{ readonly answers: readonly Answer[]; readonly progress: Progress }> {
  const answers: Answer[] = [];
  const progress = { done: 0, of: drives.length, busy: 0, lost: 0 };
  const waiting = drives.keys();
  // The first failure ends the other lanes too.
  const failure = new AbortController();
  const ended = AbortSignal.any([signal, failure.signal]);

  const callUntilAnswered = async (drive: number): Promise<Answer> => {
    for (;;) {
      try {
        const { exponent, pid } = await pendulum.apply({ drive, periods }, { signal: ended });
        return { drive, exponent: exponent.data[0] ?? Number.NaN, pid };
      } catch (error) {
        if (!(error instanceof TesseractError)) throw error;
        const again = whyAgain(error);
        if (again === undefined) throw error;
        progress[again] += 1;
        await sleep(error.retryAfter ?? 0, undefined, { signal: ended });
      }
    }
  };
  const lane = async (): Promise<void> => {
    for (const index of waiting) {
      const answer = await callUntilAnswered(drives[index] ?? Number.NaN);
      answers[index] = answer;
      progress.done += 1;
      onAnswer(answer, progress);
    }
  };
  const lanes = Array.from({ length: concurrency }, () =>
    lane().catch((error) => {
      failure.abort(error);
      throw error;
    }),
  );
  await Promise.allSettled(lanes);
  ended.throwIfAborted();
  return { answers, progress };
}

/**
 * The client never runs an endpoint twice by itself: only who calls it knows whether that does harm. To compute an exponent again
 * does none.
 */
function whyAgain(error: TesseractError): "busy" | "lost" | undefined {
  if (error.code === "SERVER_ERROR" && error.status === 503) return "busy";
  return error.code === "CONNECTION_LOST" ? "lost" : undefined;
}
