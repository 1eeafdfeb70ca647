/** How a call may end before it is answered: its client is gone, its time is over, or the server closes. */

import type { Compression, DecodeContext, EncodeContext, Headers } from "@tesseract-ts/core";

/**
 * An AbortController whose signal, which costs as much as a small call, isn't made until something asks for it. What the
 * server itself waits for is told without one.
 */
export class CallEnding implements AbortController {
  private controller: AbortController | undefined;
  private ended: { readonly reason: unknown } | undefined;
  private readonly listeners: ((reason: unknown) => void)[] = [];

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.ended !== undefined) this.controller.abort(this.ended.reason);
    }
    return this.controller.signal;
  }

  get aborted(): boolean {
    return this.ended !== undefined;
  }

  abort(reason?: unknown): void {
    if (this.ended !== undefined) return;
    this.ended = { reason };
    this.controller?.abort(reason);
    for (const listener of this.listeners.splice(0)) listener(reason);
  }

  /** @throws the reason, if the call has ended */
  throwIfAborted(): void {
    if (this.ended !== undefined) throw this.ended.reason;
  }

  /** `listener` is called once, when the call is aborted; at once if it has been. */
  onAbort(listener: (reason: unknown) => void): void {
    if (this.ended === undefined) this.listeners.push(listener);
    else listener(this.ended.reason);
  }

  offAbort(listener: (reason: unknown) => void): void {
    const at = this.listeners.lastIndexOf(listener);
    if (at >= 0) this.listeners.splice(at, 1);
  }

  /** @throws the reason, as soon as the call is aborted; what becomes of the work is nobody's matter then */
  unlessAborted<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.onAbort(reject);
      work.then(
        (value) => {
          this.offAbort(reject);
          resolve(value);
        },
        (error) => {
          this.offAbort(reject);
          reject(error);
        },
      );
    });
  }
}

/** What transports are told with the arrays of a request. */
export class DecodingCall implements DecodeContext {
  constructor(
    private readonly ending: CallEnding,
    readonly headers: Headers,
  ) {}

  get signal(): AbortSignal {
    return this.ending.signal;
  }
}

/** What transports are told with the arrays of an answer. */
export class EncodingCall implements EncodeContext {
  constructor(
    private readonly ending: CallEnding,
    readonly compression: Compression,
  ) {}

  get signal(): AbortSignal {
    return this.ending.signal;
  }
}
