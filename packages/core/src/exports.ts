/**
 * What the server has exported to this client, and which of it the client is done with
 * (`Tesseract-Exports` and `Tesseract-Exports-Done`).
 */
import type { Headers } from "./transport.js";

export const EXPORTS_HEADER = "tesseract-exports";
export const EXPORTS_DONE_HEADER = "tesseract-exports-done";

/** More than this in one header could be more than a server reads; the rest goes with the next request. */
const MOST_IDS = 100;
/** An id comes from the server, and goes back in a header. */
const ID = /^[\x21-\x2b\x2d-\x7e]{1,200}$/;

export class ExportAcknowledgements {
  private readonly done = new Set<string>();

  get pending(): boolean {
    return this.done.size > 0;
  }

  /** The exports that an answer names; acknowledged when its arrays have been decoded, or never will be. */
  named(headers: Headers): readonly string[] {
    return (headers(EXPORTS_HEADER) ?? "")
      .split(",")
      .map((id) => id.trim())
      .filter((id) => ID.test(id));
  }

  acknowledge(ids: readonly string[]): void {
    for (const id of ids) this.done.add(id);
  }

  /**
   * Ids for one request. They come back with {@link acknowledge} if the request can't be known to have reached the server: to
   * name one twice does no harm.
   */
  take(): readonly string[] {
    const ids = [...this.done].slice(0, MOST_IDS);
    for (const id of ids) this.done.delete(id);
    return ids;
  }
}
