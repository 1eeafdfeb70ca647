/** What a request is answered with when it isn't served, in FastAPI's form. */

/** One place at which a body doesn't fit: an item of FastAPI's `detail`. */
export interface Issue {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly input?: unknown;
  readonly ctx?: unknown;
}

export class Refusal extends Error {
  override readonly name = "Refusal";

  /**
   * @param detail a sentence, or the issues of a body
   * @param unread whether the request's body may not have been read to its end
   */
  constructor(
    readonly status: number,
    readonly detail: unknown,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly unread = false,
  ) {
    super(typeof detail === "string" ? detail : `HTTP ${status}`);
  }
}

export const notFound = (): Refusal => new Refusal(404, "Not Found");

export const invalid = (...issues: readonly Issue[]): Refusal => new Refusal(422, issues);

/** The server has as much to do as it may, and a later try can succeed. */
export const busy = (detail: string, unread = false): Refusal =>
  new Refusal(503, detail, { "retry-after": "1" }, unread);
