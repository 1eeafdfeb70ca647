/** What can go wrong, as stable codes. The README has a line for each. */
export type ErrorCode =
  /** The simulator runs on Linux only. */
  | "UNSUPPORTED_PLATFORM"
  /** The libraries aren't there: they are built once, with a C++ compiler. */
  | "NOT_BUILT"
  /** A program that the build needs isn't installed. */
  | "TOOL_MISSING"
  /** The build of the libraries failed; the message ends with what it said. */
  | "BUILD_FAILED"
  /** An option is wrong: a size, a time, a fault, a number of devices. */
  | "INVALID_OPTION"
  /** The command line is wrong. */
  | "USAGE"
  /** The program can't be started. */
  | "SPAWN_FAILED"
  /** The program ran longer than its `timeout` and was ended; `output` has what it printed. */
  | "TIMEOUT"
  /** The `signal` was aborted and the program ended; `output` has what it printed. */
  | "ABORTED"
  /** The simulated machine was disposed of. */
  | "DISPOSED"
  /** When the machine was disposed of, a program that it didn't start was still using it. */
  | "MACHINE_IN_USE"
  /** A file of the machine is still in shared memory after it was disposed of. */
  | "LEFT_BEHIND"
  /** The machine's state can't be read. */
  | "STATUS_FAILED"
  /** The trace can't be opened or read. */
  | "TRACE_UNREADABLE"
  /** A line of the trace isn't what the simulator writes; the message has its number. */
  | "TRACE_MALFORMED"
  /** A report or timeline can't be written. */
  | "WRITE_FAILED";

/** What a program printed until it was ended. */
export interface Output {
  readonly stdout: string;
  readonly stderr: string;
}

export interface ErrorDetails {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  readonly output?: Output | undefined;
}

/** Everything that this package throws. A program may decide by `code`. */
export class CudaSimulatorError extends Error {
  readonly code: ErrorCode;
  /** What to do next. */
  readonly hint: string | undefined;
  /** What the program printed, where one was ended. */
  readonly output: Output | undefined;

  constructor(code: ErrorCode, message: string, { hint, cause, output }: ErrorDetails = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "CudaSimulatorError";
    this.code = code;
    this.hint = hint;
    this.output = output;
  }
}

/** What a caught value says. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
