/** The end of a connection, for the calls that are on their way. */
import type { TesseractError } from "./errors.js";

/**
 * Ends the calls in flight when their Tesseract is closed. An AbortSignal could do it, but Node warns of a leak when
 * more than ten listen to one, as many calls at once would.
 */
export class Closing {
  private readonly calls = new Set<AbortController>();
  private reason: TesseractError | undefined;

  /** @throws TesseractError the reason, if it is closed already */
  add(call: AbortController): void {
    if (this.reason !== undefined) throw this.reason;
    this.calls.add(call);
  }

  delete(call: AbortController): void {
    this.calls.delete(call);
  }

  close(reason: TesseractError): void {
    this.reason ??= reason;
    for (const call of this.calls) call.abort(this.reason);
  }
}
