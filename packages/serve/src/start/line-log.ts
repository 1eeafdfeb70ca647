/** What a process prints, line by line, and the last of it. */
import type { Readable } from "node:stream";

/** Lines that are kept. */
const LINES = 1_000;
/** Characters after which a line is taken for one, though its end hasn't come. */
const LONGEST_LINE = 65_536;
/** Lines in an error. */
const LAST_LINES = 40;

export class LineLog {
  private readonly kept: string[] = [];

  constructor(private readonly onLine: ((line: string) => void) | undefined) {}

  /** The last lines, oldest first. */
  get lines(): readonly string[] {
    return this.kept.slice(-LINES);
  }

  /** As many as an error has. */
  get end(): readonly string[] {
    return this.kept.slice(-LAST_LINES);
  }

  add(line: string): void {
    this.kept.push(line);
    // Seldom, so that it costs little.
    if (this.kept.length > 2 * LINES) this.kept.splice(0, this.kept.length - LINES);
    this.onLine?.(line);
  }
}

/** Calls `onLine` for each line of a stream of UTF-8, without its end; the last one needs none. */
export function readLines(stream: Readable, onLine: (line: string) => void): void {
  const splitter = new LineSplitter(onLine);
  stream.setEncoding("utf8");
  stream.on("data", (text: string) => splitter.add(text));
  stream.on("close", () => splitter.finish());
  // A pipe whose other end was killed ends.
  stream.on("error", () => {});
}

export class LineSplitter {
  private rest = "";

  constructor(private readonly onLine: (line: string) => void) {}

  add(text: string): void {
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) this.onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
    if (this.rest.length > LONGEST_LINE) this.finish();
  }

  /** What has no end of line is a line too. */
  finish(): void {
    const { rest } = this;
    this.rest = "";
    if (rest !== "") this.onLine(rest);
  }
}
