/** Reads traces, as a whole or as they grow. */
import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { CudaSimulatorError, reasonOf } from "../errors.js";
import { LineSplitter } from "./lines.js";
import { parseTraceLine, type TraceRecord } from "./record.js";

const PIECE = 65_536;

/** Turns lines into records and knows where it is. */
class Parser {
  private readonly lines = new LineSplitter();
  private line = 0;

  constructor(private readonly path: string) {}

  *push(piece: Uint8Array): Generator<TraceRecord> {
    try {
      for (const line of this.lines.push(piece)) {
        this.line++;
        const record = line.trim() === "" ? undefined : parseTraceLine(line);
        if (record !== undefined) yield record;
      }
    } catch (error) {
      if (!(error instanceof CudaSimulatorError)) throw error;
      // A line that is too long hasn't been counted.
      const number = this.line + (error.cause === undefined ? 1 : 0);
      throw new CudaSimulatorError("TRACE_MALFORMED", `${this.path}:${number}: no line of a trace; ${error.message}`, {
        hint: "A trace is what CUDA_SIMULATOR_TRACE names; nothing else may write to that file.",
        cause: error,
      });
    }
  }

  /** A last line without a newline: a record if it is a whole one, and nothing if it was cut off. */
  last(): TraceRecord | undefined {
    try {
      return this.lines.unfinished === "" ? undefined : parseTraceLine(this.lines.unfinished);
    } catch {
      return undefined;
    }
  }
}

/**
 * The records of a trace, in the order in which they were written. A last line that was cut off, as when the disk is full,
 * is left out.
 *
 * @throws CudaSimulatorError TRACE_UNREADABLE, TRACE_MALFORMED
 */
export async function* readTrace(path: string): AsyncGenerator<TraceRecord> {
  const parser = new Parser(path);
  const pieces = createReadStream(path, { highWaterMark: PIECE });
  try {
    for await (const piece of pieces) yield* parser.push(piece as Buffer);
  } catch (error) {
    throw error instanceof CudaSimulatorError ? error : unreadable(path, error);
  }
  const last = parser.last();
  if (last !== undefined) yield last;
}

/** A trace that programs are still writing. */
export class GrowingTrace {
  private readonly parser: Parser;
  private readonly records: TraceRecord[] = [];
  private position = 0;
  private failure: CudaSimulatorError | undefined;

  constructor(private readonly path: string) {
    this.parser = new Parser(path);
  }

  /**
   * All complete records that are there now.
   *
   * @throws CudaSimulatorError TRACE_UNREADABLE, TRACE_MALFORMED
   */
  read(): readonly TraceRecord[] {
    if (this.failure !== undefined) throw this.failure; // not what follows the bad line, as if there were none
    let file: number;
    try {
      file = openSync(this.path, "r");
    } catch (error) {
      throw unreadable(this.path, error);
    }
    try {
      const piece = new Uint8Array(PIECE);
      for (;;) {
        const size = readSync(file, piece, 0, PIECE, this.position);
        if (size === 0) return [...this.records];
        this.position += size;
        for (const record of this.parser.push(piece.subarray(0, size))) this.records.push(record);
      }
    } catch (error) {
      this.failure = error instanceof CudaSimulatorError ? error : unreadable(this.path, error);
      throw this.failure;
    } finally {
      closeSync(file);
    }
  }
}

function unreadable(path: string, error: unknown): CudaSimulatorError {
  return new CudaSimulatorError("TRACE_UNREADABLE", `The trace ${path} can't be read: ${reasonOf(error)}`, {
    hint: "Give the file that CUDA_SIMULATOR_TRACE or --trace named.",
    cause: error,
  });
}
