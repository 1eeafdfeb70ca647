/** Bytes in any pieces, as lines. */
import { CudaSimulatorError } from "../errors.js";

const NEWLINE = 0x0a;

/** The simulator's lines are some hundred bytes long; no memory is given to anything much longer. */
const LONGEST_LINE = 65_536;

export class LineSplitter {
  private rest: Uint8Array = new Uint8Array(0);
  private readonly decoder = new TextDecoder();

  /**
   * The lines that are complete with this piece, without their newlines.
   *
   * @throws CudaSimulatorError TRACE_MALFORMED
   */
  *push(piece: Uint8Array): Generator<string> {
    let start = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, start)) {
      const line = this.takeRest(piece.subarray(start, end));
      start = end + 1;
      yield this.decoder.decode(line);
    }
    this.rest = this.takeRest(piece.subarray(start)).slice();
  }

  /** What came after the last newline. */
  get unfinished(): string {
    return this.decoder.decode(this.rest);
  }

  private takeRest(end: Uint8Array): Uint8Array {
    const size = this.rest.length + end.length;
    if (size > LONGEST_LINE) {
      throw new CudaSimulatorError("TRACE_MALFORMED", `it is longer than ${LONGEST_LINE} bytes`);
    }
    if (this.rest.length === 0) return end;
    const line = new Uint8Array(size);
    line.set(this.rest);
    line.set(end, this.rest.length);
    this.rest = new Uint8Array(0);
    return line;
  }
}
