/** Calls that are on their way: how many there may be, and their end when the server is closed. */
import type { ServerResponse } from "node:http";
import { CallEnding } from "../calls/ending.js";
import { busy, Refusal } from "./refusal.js";

export class CallsInFlight {
  private readonly calls = new Set<CallEnding>();
  private onEmpty: (() => void) | undefined;
  private closing = false;

  constructor(private readonly most: number) {}

  get count(): number {
    return this.calls.size;
  }

  /**
   * Runs a call, which ends early when its client is gone.
   *
   * @throws Refusal 503
   */
  async during(response: ServerResponse, work: (ending: CallEnding) => Promise<void>): Promise<void> {
    if (this.closing) throw new Refusal(503, "The server is about to end", { connection: "close" }, true);
    if (this.calls.size >= this.most) throw busy(`${this.most} calls are running, which is as many as may`, true);
    const ending = new CallEnding();
    const onClose = (): void => {
      if (!response.writableFinished) ending.abort(new Refusal(499, "The client closed the connection", {}, true));
    };
    this.calls.add(ending);
    response.on("close", onClose);
    try {
      await work(ending);
    } finally {
      response.off("close", onClose);
      this.calls.delete(ending);
      if (this.calls.size === 0) this.onEmpty?.();
    }
  }

  /** No call begins any more, and those that run are aborted if they haven't ended in time. */
  async close(timeLimit: number): Promise<void> {
    this.closing = true;
    if (this.calls.size === 0) return;
    const reason = new Refusal(503, "The server has ended", {}, true);
    const timer = setTimeout(() => {
      for (const ending of this.calls) ending.abort(reason);
    }, timeLimit);
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
    clearTimeout(timer);
  }
}
