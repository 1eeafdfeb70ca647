/** The compressed bytes are not what the LZ4 format, or the caller, says they must be. */
export class Lz4Error extends Error {
  override readonly name = "Lz4Error";
  /** Where in the compressed bytes the fault was seen. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(`LZ4: ${message} (at byte ${offset})`);
    this.offset = offset;
  }
}
