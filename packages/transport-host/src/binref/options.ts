export interface BinrefOptions {
  /**
   * The directory that the server reads inputs from, as this process sees it. Without it, inputs go as base64.
   * A file is written there for each request and removed when the request is over.
   */
  readonly inputPath?: string;
  /**
   * The directory that the server writes outputs to, as this process sees it. Without it, the format can't be used.
   * The files there stay the server's.
   */
  readonly outputPath?: string;
}
