/** A Tesseract that was started, and what starting one takes. */
import type { FromUrlOptions, Tesseract, TesseractTypes, Transports, Untyped } from "@tesseract-ts/core";

/**
 * A Tesseract in a process or container of its own, which ends with it: by `close()`, at the end of its `await using`
 * block, and with this process, however that ends.
 *
 * A call during which the process ends fails with PROCESS_ENDED, whose `log` has the last lines.
 */
export interface StartedTesseract<T extends TesseractTypes = Untyped> extends Tesseract<T> {
  /** For other clients on this machine: `http://127.0.0.1:49152`. */
  readonly url: string;
  readonly port: number;
  /** Where `binref` inputs are written, and runs have their folders. Removed at the end unless they were given. */
  readonly inputPath: string;
  readonly outputPath: string;
  /** The last lines that it printed, oldest first; 1,000 at most. */
  readonly log: readonly string[];
  /** Resolves when it has ended, for whatever reason. Who has asked for it keeps this process alive until then. */
  readonly ended: Promise<ProcessEnd>;
  /**
   * Ends the connection, stops the process (orderly, and after `stopTimeout` by force) with all that it started, and
   * removes the folders that were made for it. May be called again, and when it has ended by itself.
   */
  close(): Promise<void>;
}

/** How a process ended. */
export type ProcessEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: string }
  /** Nobody saw how: what watched over it was killed. */
  | { readonly kind: "lost" };

/** What a start is doing; some of it takes minutes. */
export interface StartProgress {
  readonly step: "environment" | "image" | "process" | "connection";
  /** For a person: "Installing tesseract_requirements.txt". */
  readonly message: string;
}

/** Settings of the runtime by their names, such as `{ debug: true, profiling: true }`; `debug` or `DEBUG` is one. */
export type RuntimeConfig = Readonly<Record<string, string | number | boolean>>;

/** What `fromSource` and `fromImage` both take: how to start, and how to connect as `fromUrl` does. */
export interface StartOptions extends Omit<FromUrlOptions, "transports" | "basePath" | "signal"> {
  /**
   * How this process's arrays may cross, in order of preference. If left out, `host()` with the directories below, and
   * before it `cudaIpc()` where a `gpuTransport` of "cuda_ipc" is asked for or offered.
   */
  readonly transports?: Transports;
  /** The server allows it, and calls ask for it. An error if the server can't. */
  readonly gpuTransport?: string;
  /** The server allows it where it can, and calls ask for nothing: `resolveGpuTransport()` finds out what works. */
  readonly offerGpuTransport?: string;
  /** The address to listen on. `127.0.0.1` if left out: only this machine. */
  readonly host?: string;
  /** 0, or left out: any free one. Or the one to take, or those to choose from: `"8000-8100"`. */
  readonly port?: number | string;
  /** Milliseconds until it has to answer `/health`, without what is built before. 30,000 if left out. */
  readonly startTimeout?: number;
  /** Milliseconds that it has to end when asked to; then it is killed. 10,000 if left out. */
  readonly stopTimeout?: number;
  /** Ends the start early, with all that was begun. */
  readonly signal?: AbortSignal;
  /** More variables for its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The directory of `binref` inputs; made and removed with it if left out. */
  readonly inputPath?: string;
  /** The directory that the folders of runs are made in; made and removed with it if left out. */
  readonly outputPath?: string;
  readonly runtimeConfig?: RuntimeConfig;
  /** Told each line as it is printed. Lines of a call's own log come with its run's id, while the call runs. */
  readonly onLog?: (line: string, runId?: string) => void;
  readonly onProgress?: (progress: StartProgress) => void;
}
