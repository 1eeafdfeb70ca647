/** The files of one message. */
import { randomUUID } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import type { Lease } from "@tesseract-ts/core";
import { type ArrayFile, removeFile, type WarmFiles } from "./warm-files.js";

/** A file that is larger gets no more arrays; the reference's limit. */
const LARGEST_FILE = 100 * 1024 * 1024;
/** Bytes per write; between them a call can be aborted. */
const WRITE_STEP = 1 << 26;

export interface ArrayFilesOptions {
  /** In the directory; names are relative to the latter. It is made when it is needed. */
  readonly folder?: string;
  readonly warm?: WarmFiles | undefined;
}

export class ArrayFiles implements Lease {
  private files: ArrayFile[] = [];
  /** What has been written to the last of them, in bytes. */
  private size = 0;

  constructor(
    readonly directory: string,
    private readonly options: ArrayFilesOptions,
  ) {}

  async append(
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly name: string; readonly offset: number }> {
    const file = await this.current();
    const { size: offset } = this;
    for (let written = 0; written < bytes.length; ) {
      signal?.throwIfAborted();
      const step = Math.min(bytes.length - written, WRITE_STEP);
      written += (await file.handle.write(bytes, written, step, offset + written)).bytesWritten;
    }
    this.size += bytes.length;
    file.size = Math.max(file.size, this.size);
    return { name: file.name, offset };
  }

  /** Nothing more is appended, and the files stay. */
  async finish(): Promise<void> {
    await Promise.all(this.files.splice(0).map(({ handle }) => handle.close()));
  }

  /** The other side has read them. */
  async release(): Promise<void> {
    const { warm } = this.options;
    await Promise.all(this.files.splice(0).map((file) => (warm === undefined ? removeFile(file) : warm.keep(file))));
  }

  /** The other side may still be reading. To take a file away harms nobody, but to write other arrays to it would. */
  async abandon(): Promise<void> {
    await Promise.all(this.files.splice(0).map(removeFile));
  }

  private async current(): Promise<ArrayFile> {
    const last = this.files[this.files.length - 1];
    if (last !== undefined && this.size <= LARGEST_FILE) return last;
    const file = (await this.options.warm?.take()) ?? (await this.create());
    this.files.push(file);
    this.size = 0;
    return file;
  }

  private async create(): Promise<ArrayFile> {
    const { folder } = this.options;
    if (folder !== undefined) await mkdir(join(this.directory, folder), { recursive: true });
    const file = `${randomUUID()}.bin`;
    const name = folder === undefined ? file : `${folder}/${file}`;
    const path = join(this.directory, name);
    return { name, path, handle: await open(path, "wx", 0o644), size: 0 };
  }
}
