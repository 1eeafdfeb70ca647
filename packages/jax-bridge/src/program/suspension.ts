/** Building a program is synchronous, since jax-js traces synchronously; what it must wait for interrupts it. */

import { type CallOptions, Closing, withDeadline } from "@tesseract-ts/core";
import { impure } from "../errors.js";
import type { JaxArray } from "../jax.js";

/**
 * How often a function may be interrupted for something that it then doesn't ask for any more. A pure one does ask again, unless
 * what asked has been built by somebody else meanwhile.
 */
const MOST_IN_VAIN = 20;

/** Thrown through a function that is being traced. When `ready` has resolved, the function is executed again. */
export class Suspension {
  constructor(readonly ready: Promise<void>) {}
}

/** What one building of a program has to put in order when it is over. */
export interface Build {
  /** Arrays that interrupted traces hold, once for each trace. */
  readonly held: JaxArray[];
  /** What it was interrupted for last, until it is asked for again. */
  awaited: Promise<void> | undefined;
}

// Building is synchronous, so that which one it is needn't be passed through jax-js and the function.
let current: Build = { held: [], awaited: undefined };

export const currentBuild = (): Build => current;

/**
 * Executes `build` until nothing interrupts it any more.
 *
 * @param call ends the waiting, not what is waited for: others may wait for it too
 * @throws TesseractError ABORTED, TIMEOUT; IMPURE_FUNCTION if it waits for something else again and again; and what `build` throws
 */
export async function settle<T>(build: () => T, call: CallOptions = {}): Promise<T> {
  const own: Build = { held: [], awaited: undefined };
  try {
    for (let inVain = 0; inVain < MOST_IN_VAIN; ) {
      const interruption = attempt(build, own);
      if ("result" in interruption) return interruption.result;
      const { ready } = interruption.suspension;
      inVain = own.awaited === undefined ? 0 : inVain + 1;
      own.awaited = ready;
      await withDeadline(call, new Closing(), "The building of a program", () => ready);
    }
    throw impure("it called another Tesseract, or with other shapes,");
  } finally {
    // Nothing has claimed them as its own, so they were made within a trace.
    for (const array of own.held) if (array.refCount > 0) array.dispose();
  }
}

function attempt<T>(build: () => T, own: Build): { readonly result: T } | { readonly suspension: Suspension } {
  const outer = current;
  current = own;
  try {
    return { result: build() };
  } catch (error) {
    if (error instanceof Suspension) return { suspension: error };
    throw error;
  } finally {
    current = outer;
  }
}
