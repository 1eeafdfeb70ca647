/** What a program and the guard of a process that it started say to each other. */
import type { Command } from "./start-server.js";

/** Comes first: what to make, and what to undo at the end. */
export interface Own {
  readonly kind: "own";
  readonly folders: readonly string[];
  readonly cleanup: readonly Command[];
}

/** One at a time. */
export interface Run extends Command {
  readonly kind: "run";
  /** Whether the process is given the descriptor 4. */
  readonly reports: boolean;
  /** Ends it in the place of signals, as a `ServerLaunch` has it. */
  readonly end?: Command | undefined;
}

export type ToGuard =
  | Own
  | Run
  /** SIGTERM, and after so many milliseconds SIGKILL; or what a run has in their place. */
  | { readonly kind: "stop"; readonly limit: number }
  /** The folders are to stay. */
  | { readonly kind: "keep" };

export type FromGuard =
  | { readonly kind: "owned" }
  | { readonly kind: "started"; readonly pid: number }
  /** What was ordered last can't be done. */
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "exited"; readonly code: number | null; readonly signal: string | null }
  /** Something couldn't be undone. */
  | { readonly kind: "left"; readonly message: string };
