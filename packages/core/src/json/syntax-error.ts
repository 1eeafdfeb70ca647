/** Text that isn't JSON, or JSON that is refused. */
export class JsonSyntaxError extends Error {
  override readonly name = "JsonSyntaxError";

  /** @param offset the byte at which it was noticed, from the text's start */
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(`${message} at byte ${offset}`);
  }
}
