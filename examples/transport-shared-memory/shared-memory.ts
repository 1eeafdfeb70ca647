/** A transport of one's own: arrays between the processes of one host, over POSIX shared memory. */
import { randomBytes } from "node:crypto";
import { constants, existsSync, rmSync } from "node:fs";
import { type FileHandle, open, rm } from "node:fs/promises";
import { endianness } from "node:os";
import { join } from "node:path";
import {
  bytesOf,
  checkHostArray,
  type EncodedArray,
  elementCount,
  type HostArray,
  type HostTransport,
  itemSize,
  makeHostArray,
  type ReceivedArray,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";

/** Where Linux keeps shared memory: files of it live in memory only. Containers may share another mount of tmpfs. */
const FOLDER = process.env.SHARED_MEMORY_FOLDER ?? "/dev/shm";
/** `NAME:OFFSET`. The name is 128 random bits, so that nobody can guess it, and has nothing of a path in it. */
const REFERENCE = /^(tesseract-[0-9a-f]{32}):(\d{1,15})$/;
/** Bytes per read and write; between them a call can be aborted. */
const STEP = 1 << 24;

export function sharedMemory(): HostTransport {
  return {
    name: "shm",
    carries: "host",
    reach: "host",
    async probe() {
      if (endianness() !== "LE") return { ok: false, reason: "this machine isn't little-endian" };
      if (existsSync(FOLDER)) return { ok: true };
      return { ok: false, reason: `there is no ${FOLDER} here`, hint: "Use binref or base64 of transport-host." };
    },

    async encode(arrays, { signal }) {
      const file = await SharedFile.create();
      try {
        const encoded: EncodedArray[] = [];
        for (const array of arrays) {
          const offset = await file.append(bytesOf(array), signal);
          const data = { encoding: "shm", buffer: `${file.name}:${offset}` };
          encoded.push({ object_type: "array", shape: array.shape, dtype: array.dtype, data });
        }
        await file.finish();
        return { arrays: encoded, lease: { release: () => file.remove(), abandon: () => file.remove() } };
      } catch (error) {
        await file.remove();
        throw error;
      }
    },

    async decode(encoded, { signal }) {
      const files = new Map<string, FileHandle>();
      try {
        const arrays: HostArray[] = [];
        for (const array of encoded) arrays.push(await readArray(array, files, signal));
        // The message has been read: its memory is given back at once, not when its sender hears of it.
        await Promise.all([...files.keys()].map((name) => rm(join(FOLDER, name), { force: true })));
        return arrays;
      } finally {
        await Promise.all([...files.values()].map((handle) => handle.close()));
      }
    },
  };
}

/** Files that this process has made and not removed; at its end they are. */
const mine = new Set<string>();
process.on("exit", () => {
  for (const name of mine) rmSync(join(FOLDER, name), { force: true });
});

/** The memory of one message. */
class SharedFile {
  private size = 0;

  private constructor(
    readonly name: string,
    private readonly handle: FileHandle,
  ) {}

  static async create(): Promise<SharedFile> {
    const name = `tesseract-${randomBytes(16).toString("hex")}`;
    try {
      const file = new SharedFile(name, await open(join(FOLDER, name), "wx", 0o600));
      mine.add(name);
      return file;
    } catch (error) {
      throw fileError("Shared memory can't be made", error);
    }
  }

  /** @returns where in the file the bytes begin */
  async append(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<number> {
    const offset = this.size;
    for (let written = 0; written < bytes.length; ) {
      signal?.throwIfAborted();
      const step = Math.min(STEP, bytes.length - written);
      try {
        written += (await this.handle.write(bytes, written, step, offset + written)).bytesWritten;
      } catch (error) {
        throw fileError(`${bytes.length} bytes can't be written to shared memory`, error);
      }
    }
    this.size += bytes.length;
    return offset;
  }

  async finish(): Promise<void> {
    await this.handle.close();
  }

  /** May be called again, and doesn't reject: whoever has read the message may have removed it. */
  async remove(): Promise<void> {
    await this.handle.close().catch(() => {});
    if (mine.delete(this.name)) await rm(join(FOLDER, this.name), { force: true }).catch(warn);
  }
}

async function readArray(
  { path, shape, dtype, data }: ReceivedArray,
  files: Map<string, FileHandle>,
  signal: AbortSignal | undefined,
): Promise<HostArray> {
  const refuse = (what: string): TesseractError => new TesseractError("DECODE_FAILED", `${path}: ${what}`);
  const match = typeof data.buffer === "string" ? REFERENCE.exec(data.buffer) : null;
  if (match === null || data.compression !== undefined) throw refuse("this is no reference to shared memory");
  const [, name = "", offset] = match;
  const handle = files.get(name) ?? (await openShared(name, path));
  files.set(name, handle);

  // Before any memory is taken, the file must have what the shape says.
  const bytes = elementCount(shape) * itemSize(dtype);
  const { size } = await handle.stat();
  if (Number(offset) + bytes > size) throw refuse(`the array needs ${bytes} bytes from ${offset} on, of ${size}`);
  const memory = new Uint8Array(bytes);
  for (let filled = 0; filled < bytes; ) {
    signal?.throwIfAborted();
    const step = Math.min(STEP, bytes - filled);
    const { bytesRead } = await handle.read(memory, filled, step, Number(offset) + filled);
    if (bytesRead === 0) throw refuse("its memory became shorter while it was read");
    filled += bytesRead;
  }
  const array = makeHostArray(dtype, [...shape], viewAs(dtype, memory.buffer));
  try {
    checkHostArray(array);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  return array;
}

/** Follows no link, and waits for no pipe. */
async function openShared(name: string, path: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(join(FOLDER, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw fileError(`${path}: its shared memory can't be opened`, error);
  }
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new TesseractError("FILE_ERROR", `${path}: "${name}" is no shared memory`);
}

function fileError(what: string, cause: unknown): TesseractError {
  const full = (cause as { readonly code?: string }).code === "ENOSPC";
  return new TesseractError("FILE_ERROR", `${what}: ${String(cause)}`, {
    cause,
    hint: full
      ? `${FOLDER} is full. A container has 64 MB of it unless it is run with --shm-size.`
      : `Do both processes see the same ${FOLDER}, and run as the same user? Containers need --ipc=host.`,
  });
}

function warn(error: unknown): void {
  process.emitWarning(`Shared memory couldn't be given back: ${String(error)}`);
}
