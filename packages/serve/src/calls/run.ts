/** The files of one run: a folder and a log, made when something is written. */
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { join } from "node:path";

export class Run {
  readonly folder: string;
  private directory: Promise<string> | undefined;
  private file: Promise<FileHandle> | undefined;
  private written: Promise<unknown> = Promise.resolve();
  private failure: unknown;

  /** @param outputPath the server's output directory */
  constructor(
    private readonly outputPath: string,
    readonly id: string,
  ) {
    this.folder = `run_${id}`;
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

  /** A line for the run's log, `logs/tesseract.log`. Lines are written in turn. */
  log(message: string): void {
    const line = message.endsWith("\n") ? message : `${message}\n`;
    this.file ??= this.openLog();
    const { file } = this;
    this.written = this.written
      .then(async () => (await file).appendFile(line))
      .catch((error) => {
        this.failure ??= error;
      });
  }

  /** Everything has been written. */
  async finish(): Promise<void> {
    const { file } = this;
    if (file === undefined) return;
    await this.written;
    this.file = undefined;
    await file
      .then((handle) => handle.close())
      .catch((error) => {
        this.failure ??= error;
      });
    if (this.failure !== undefined) {
      process.emitWarning(`The log of run ${this.id} couldn't be written: ${String(this.failure)}`);
    }
  }

  private async openLog(): Promise<FileHandle> {
    const logs = join(await this.outputDirectory(), "logs");
    await mkdir(logs, { recursive: true });
    return open(join(logs, "tesseract.log"), "a");
  }
}
