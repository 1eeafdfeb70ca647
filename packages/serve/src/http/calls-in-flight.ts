/** Calls that are on their way: how many there may be, and their end when the server is closed. */
import type { ServerResponse } from "node:http";
import { busy, Refusal } from "./refusal.js";

export class CallsInFlight {
  private readonly controllers = new Set<AbortController>();
  private onEmpty: (() => void) | undefined;
  private closing = false;

  constructor(private readonly most: number) {}

  get count(): number {
    return this.controllers.size;
  }

  /**
   * Runs a call, whose signal is aborted when its client is gone.
   *
   * @throws Refusal 503
   */
  async during(response: ServerResponse, work: (controller: AbortController) => Promise<void>): Promise<void> {
    if (this.closing) throw new Refusal(503, "The server is about to end", { connection: "close" }, true);
    if (this.controllers.size >= this.most) throw busy(`${this.most} calls are running, which is as many as may`, true);
    const controller = new AbortController();
    const onClose = (): void => {
      if (!response.writableFinished) controller.abort(new Refusal(499, "The client closed the connection"));
    };
    this.controllers.add(controller);
    response.once("close", onClose);
    try {
      await work(controller);
    } finally {
      response.off("close", onClose);
      this.controllers.delete(controller);
      if (this.controllers.size === 0) this.onEmpty?.();
    }
  }

  /** No call begins any more, and those that run are aborted if they haven't ended in time. */
  async close(timeLimit: number): Promise<void> {
    this.closing = true;
    if (this.controllers.size === 0) return;
    const reason = new Refusal(503, "The server has ended");
    const timer = setTimeout(() => {
      for (const controller of this.controllers) controller.abort(reason);
    }, timeLimit);
    await new Promise<void>((resolve) => {
      this.onEmpty = resolve;
    });
    clearTimeout(timer);
  }
}
