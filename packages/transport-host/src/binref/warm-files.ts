/**
 * Files that are kept for the next message. To write over the pages that a file has already takes half the time of making
 * new ones.
 */
import { unlinkSync } from "node:fs";
import { type FileHandle, unlink } from "node:fs/promises";

export interface ArrayFile {
  /** Relative to the directory that both sides know. */
  readonly name: string;
  readonly path: string;
  readonly handle: FileHandle;
  /** Bytes that it has. */
  size: number;
}

/** Kept files have no more bytes than this together. */
const MOST_BYTES = 256 * 1024 * 1024;
const MOST_FILES = 4;
/** They take up disk, or memory, so a program that does something else gives them back. */
const IDLE_MS = 10_000;

export class WarmFiles {
  /** Most recently used last. */
  private readonly files: ArrayFile[] = [];
  private timer: NodeJS.Timeout | undefined;
  private closed = false;

  async take(): Promise<ArrayFile | undefined> {
    for (;;) {
      const file = this.files.pop();
      if (file === undefined) return undefined;
      leftAtExit.delete(file.path);
      // Someone may have cleared the directory meanwhile.
      const found = await file.handle.stat().catch(() => undefined);
      if (found !== undefined && found.nlink > 0) return file;
      await removeFile(file);
    }
  }

  /** Of a file that nobody reads any more. */
  async keep(file: ArrayFile): Promise<void> {
    if (this.closed) return removeFile(file);
    this.files.push(file);
    leftAtExit.add(file.path);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.clear(), IDLE_MS).unref();
    let bytes = this.files.reduce((sum, { size }) => sum + size, 0);
    const surplus: ArrayFile[] = [];
    while (bytes > MOST_BYTES || this.files.length > MOST_FILES) {
      const oldest = this.files.shift();
      if (oldest === undefined) break;
      bytes -= oldest.size;
      surplus.push(oldest);
    }
    await Promise.all(surplus.map(removeFile));
  }

  async close(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.clear();
  }

  private async clear(): Promise<void> {
    await Promise.all(this.files.splice(0).map(removeFile));
  }
}

export async function removeFile({ path, handle }: ArrayFile): Promise<void> {
  leftAtExit.delete(path);
  for (const outcome of await Promise.allSettled([handle.close(), unlink(path)])) {
    if (outcome.status === "fulfilled" || (outcome.reason as { code?: unknown }).code === "ENOENT") continue;
    process.emitWarning(`An array's file couldn't be removed: ${String(outcome.reason)}`);
  }
}

/** Kept files of connections that a program doesn't close before it ends. */
const leftAtExit = new Set<string>();

process.once("exit", () => {
  for (const path of leftAtExit) {
    try {
      unlinkSync(path);
    } catch {
      // It is gone already, or can't be removed; there is nobody left to tell.
    }
  }
});
