/** The files of one run: a folder and a log, made when something is written. */
import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";

export class Run {
  private directory: Promise<string> | undefined;
  private file: Promise<FileHandle> | undefined;
  private written: Promise<unknown> = Promise.resolve();
  private failure: unknown;
  private isFinished = false;

  /** @param outputPath the server's output directory */
  constructor(
    private readonly outputPath: string,
    /** As the request gives it; a fresh one if it gives none. */
    private name: string | undefined,
  ) {}

  get id(): string {
    this.name ??= randomUUID();
    return this.name;
  }

  get folder(): string {
    return `run_${this.id}`;
  }

  /** The run's own folder. */
  outputDirectory(): Promise<string> {
    this.directory ??= (async () => {
      const path = join(this.outputPath, this.folder);
      await mkdir(path, { recursive: true });
      return path;
    })();
    return this.directory;
  }

  /** A line for the run's log, `logs/tesseract.log`. */
  log(message: string): void {
    this.write(message.endsWith("\n") ? message : `${message}\n`);
  }

  /** Text for the run's log. Texts are written in turn. */
  write(text: string): void {
    const late = this.isFinished;
    this.file ??= this.openLog();
    const { file } = this;
    this.written = this.written
      .then(async () => (await file).appendFile(text))
      .catch((error) => {
        this.failure ??= error;
      });
    // An endpoint that has answered may go on writing.
    if (late) void this.finish();
  }

  /** @returns when everything has been written; undefined if there is nothing to wait for */
  finish(): Promise<void> | undefined {
    this.isFinished = true;
    const { file } = this;
    this.file = undefined;
    return file === undefined ? undefined : this.close(file);
  }

  private async close(file: Promise<FileHandle>): Promise<void> {
    await this.written;
    await file
      .then((handle) => handle.close())
      .catch((error) => {
        this.failure ??= error;
      });
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) process.emitWarning(`The log of run ${this.id} couldn't be written: ${String(failure)}`);
  }

  private async openLog(): Promise<FileHandle> {
    const logs = join(await this.outputDirectory(), "logs");
    await mkdir(logs, { recursive: true });
    return open(join(logs, "tesseract.log"), "a");
  }
}
