/** What `startServer` is told to start, and what it is told by it. */
import type { ErrorCode } from "@tesseract-ts/core";
import type { ProcessEnd } from "./started.js";

/** A program to run. */
export interface Command {
  readonly command: string;
  readonly args: readonly string[];
  /** All of its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The working directory; this process's if left out. */
  readonly cwd?: string;
}

export interface ServerLaunch {
  /** As errors call it: `The Tesseract "heat.ts"`. */
  readonly what: string;
  /**
   * The server in the foreground: it ends on SIGTERM, and prints its log. Asked again, for another port, if this one turns
   * out to be taken. By then the folders of `folders` exist.
   */
  command(port: number): Command | Promise<Command>;
  /** Folders to make before it starts (mode 0700), parents first, and to remove after it. */
  readonly folders?: readonly string[];
  /**
   * Ends it, where signals must not, as they would a container engine in the middle of its work. Run with the milliseconds that it
   * has as its last argument, for as long as the server runs: the end of its standard input says that it has ended. SIGTERM and
   * SIGKILL if left out.
   */
  readonly end?: Command | undefined;
  /** Run after it has ended, however it did, even if this process was killed: `podman rm --force NAME`. */
  readonly cleanup?: readonly Command[];
  /**
   * `reported`: it listens on the port that it is given, and on any for 0, and writes a {@link ServerReport}, as a line of JSON,
   * to descriptor 4. `own`: the process or its children listen on the port. `elsewhere`: others do, on its behalf, as for a
   * container. `own` if left out.
   */
  readonly listens?: "reported" | "own" | "elsewhere";
  /** What is known of a start that failed, more than that it did. */
  explain?(failure: FailedStart): Explanation | undefined;
}

export type ServerReport =
  | { readonly kind: "listening"; readonly port: number }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string; readonly hint?: string };

export interface FailedStart {
  /** Undefined: it didn't end, but didn't answer either. */
  readonly end: ProcessEnd | undefined;
  readonly log: readonly string[];
}

export interface Explanation {
  readonly code?: ErrorCode;
  readonly message?: string;
  readonly hint?: string;
}
