/** What the command line reads from and writes to, so that a test can stand in for it. */

export interface Output {
  write(text: string): void;
  /** Whether a person looks at it. */
  readonly isTerminal: boolean;
  /** Characters in a line. */
  readonly columns: number;
}

export interface Terminal {
  /** What was asked for, and nothing else. */
  readonly out: Output;
  /** Progress, warnings, failures. */
  readonly err: Output;
  readonly input: AsyncIterable<Uint8Array>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The working directory, that paths are relative to. */
  readonly directory: string;
  /** Aborted by Ctrl-C, and by whatever else asks the process to end. */
  readonly signal: AbortSignal;
}

/** The one of this process. Its signal is the caller's to abort. */
export function processTerminal(signal: AbortSignal): Terminal {
  return {
    out: outputOf(process.stdout),
    err: outputOf(process.stderr),
    input: process.stdin,
    env: process.env,
    directory: process.cwd(),
    signal,
  };
}

const outputOf = (stream: NodeJS.WriteStream): Output => ({
  write: (text) => void stream.write(text),
  isTerminal: stream.isTTY === true,
  get columns() {
    return stream.columns ?? 100;
  },
});
