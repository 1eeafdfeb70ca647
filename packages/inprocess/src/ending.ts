/** The end of a call that has no time limit and no signal: a signal is made for it only where one is asked for. */

/** How a call may end before its endpoint does. */
export interface Ending {
  readonly signal: AbortSignal;
  /** @throws the reason, if the call has ended */
  throwIfAborted(): void;
}

/** An AbortController whose signal, which costs as much as the rest of a call, isn't made until it is read. */
export class LazyAbortController implements AbortController, Ending {
  private controller: AbortController | undefined;
  private reason: { readonly is: unknown } | undefined;

  /** @param onAbort called once, when it is aborted */
  constructor(private readonly onAbort: (reason: unknown) => void) {}

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.reason !== undefined) this.controller.abort(this.reason.is);
    }
    return this.controller.signal;
  }

  abort(reason?: unknown): void {
    if (this.reason !== undefined) return;
    this.reason = { is: reason };
    this.controller?.abort(reason);
    this.onAbort(reason);
  }

  throwIfAborted(): void {
    if (this.reason !== undefined) throw this.reason.is;
  }
}
