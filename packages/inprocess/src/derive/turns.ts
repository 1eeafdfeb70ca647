/** Long work on the event loop, in pieces. */
import type { EndpointContext } from "../definition.js";

/** How long work may hold the event loop at a time, in milliseconds. */
const HOLD_MS = 10;

/** Gives the event loop its turns, and ends the work when the caller has given up. */
export class Turns {
  private since = performance.now();

  constructor(private readonly context: EndpointContext) {}

  /** @throws the reason that the call's signal was aborted with */
  async next(): Promise<void> {
    this.context.signal.throwIfAborted();
    if (performance.now() - this.since < HOLD_MS) return;
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.since = performance.now();
    this.context.signal.throwIfAborted();
  }
}
