import type { HostTransport } from "@tesseract-ts/core";

export interface BinrefOptions {
  /**
   * The directory that the server reads inputs from, as this process sees it. Without it, inputs go as base64.
   * Files that are written there for a request are used again for the next, up to 256 MB of them; they are removed after
   * ten idle seconds, when the Tesseract is closed, and when the process ends.
   */
  readonly inputPath?: string;
  /**
   * The directory that the server writes outputs to, as this process sees it. Without it, the format can't be used.
   * The files there stay the server's.
   */
  readonly outputPath?: string;
}

/** Where a server keeps its files. */
export interface ServerDirectories {
  /** Inputs are read from below it. */
  readonly inputPath: string;
  /** Outputs are written below it. */
  readonly outputPath: string;
  /** The folder in `outputPath` for the outputs of one run, such as `run_1`. It is made when something is written. */
  readonly folder: string;
}

/** A transport through files, which a server uses from the other side. */
export interface FileTransport extends HostTransport {
  /**
   * The transport for one run at the server: it reads inputs and writes outputs, whose files stay there. Paths that the
   * transport itself was given are a client's, and aren't used.
   */
  atServer(directories: ServerDirectories): HostTransport;
}
