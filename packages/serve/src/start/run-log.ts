/** Follows the log of a run, `<outputPath>/run_<id>/logs/tesseract.log`, while its call runs. */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import { setTimeout as sleep } from "node:timers/promises";
import { LineSplitter } from "./line-log.js";

/** Milliseconds between looks at the file, at first and at most: it is written by another process, maybe in a container. */
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;
const CHUNK_BYTES = 65_536;

export class RunLog {
  private readonly done = new AbortController();
  private readonly following: Promise<void>;

  constructor(
    outputPath: string,
    runId: string,
    private readonly onLine: (line: string) => void,
  ) {
    this.following = this.follow(join(outputPath, `run_${runId}`, "logs", "tesseract.log"));
  }

  /** All that was written before has been told when this resolves. */
  async finish(): Promise<void> {
    this.done.abort();
    await this.following;
  }

  private async follow(path: string): Promise<void> {
    const splitter = new LineSplitter(this.onLine);
    const decoder = new StringDecoder("utf8");
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let file: FileHandle | undefined;
    let position = 0;
    try {
      for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
        // Looked at before the file: what was written before the call's end is then read.
        const isLast = this.done.signal.aborted;
        file ??= await open(path, "r").catch(() => undefined);
        for (let more = file !== undefined; more; ) {
          const { bytesRead } = (await file?.read(buffer, 0, CHUNK_BYTES, position)) ?? { bytesRead: 0 };
          position += bytesRead;
          more = bytesRead > 0;
          if (more) pause = FIRST_PAUSE_MS;
          splitter.add(decoder.write(buffer.subarray(0, bytesRead)));
        }
        if (isLast) break;
        await sleep(pause, undefined, { signal: this.done.signal, ref: false }).catch(() => {});
      }
      splitter.add(decoder.end());
      splitter.finish();
    } finally {
      await file?.close();
    }
  }
}
