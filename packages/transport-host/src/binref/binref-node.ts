/** The transport `binref`: arrays in files that both sides see. */
import { randomUUID } from "node:crypto";
import { type FileHandle, mkdir, open, unlink } from "node:fs/promises";
import { join } from "node:path";
import {
  bytesOf,
  type EncodeContext,
  type EncodedArray,
  elementCount,
  type HostArray,
  type HostTransport,
  itemSize,
  type Lease,
  type MessageContext,
  type ReceivedArray,
  TesseractError,
} from "@tesseract-ts/core";
import { arrayFromBytes, compress } from "../buffers.js";
import { endianness, refuseBigEndian } from "../endianness.js";
import { AnticipatedMemory } from "./anticipated-memory.js";
import type { BinrefOptions, FileTransport, ServerDirectories } from "./options.js";
import { openWithin, parseReference } from "./reference.js";

/** A file that is larger gets no more arrays; the reference's limit. */
const LARGEST_FILE = 100 * 1024 * 1024;
/** Bytes per write; between them a call can be aborted. */
const WRITE_STEP = 1 << 26;
const READ_STEP = 1 << 22;
/**
 * Reads at a time, as many as libuv has threads: to touch fresh memory for the first time costs more than the copy into
 * it, and the kernel does that on several cores at once.
 */
const LANES = 4;

/**
 * The transport `binref`, output format `json+binref`: for a server on this host, or one that shares directories.
 */
export function binref({ inputPath, outputPath }: BinrefOptions = {}): FileTransport {
  const memory = new AnticipatedMemory();
  return {
    name: "binref",
    carries: "host",
    reach: "host",
    atServer,
    sends: inputPath !== undefined,
    async probe() {
      const found = endianness();
      if (!found.ok || outputPath !== undefined) return found;
      return {
        ok: false,
        reason: "no outputPath was given",
        hint: "Pass binref({ outputPath }), the server's output directory as this process sees it.",
      };
    },
    async encode(arrays, context) {
      if (inputPath === undefined) throw missingPath("inputPath");
      const files = new ArrayFiles(inputPath);
      const encoded = await write(arrays, files, context);
      memory.prepare();
      return { arrays: encoded, lease: files };
    },
    async decode(encoded, context) {
      if (outputPath === undefined) throw missingPath("outputPath");
      return readAll(encoded, outputPath, memory, context);
    },
  };
}

/** The other side of the same: the files of inputs are the client's, and those of outputs stay. */
function atServer({ inputPath, outputPath, folder }: ServerDirectories): HostTransport {
  return {
    name: "binref",
    carries: "host",
    reach: "host",
    probe: async () => endianness(),
    async encode(arrays, context) {
      const files = new ArrayFiles(outputPath, folder);
      const encoded = await write(arrays, files, context);
      await files.finish();
      return { arrays: encoded };
    },
    decode: (encoded, context) => readAll(encoded, inputPath, new AnticipatedMemory(), context),
  };
}

/** Appends arrays to files; if that fails, no file is left. */
async function write(
  arrays: readonly HostArray[],
  files: ArrayFiles,
  { compression, signal }: EncodeContext,
): Promise<readonly EncodedArray[]> {
  refuseBigEndian();
  try {
    const encoded: EncodedArray[] = [];
    for (const array of arrays) {
      const packed = compression === "none" ? undefined : await compress(bytesOf(array), signal);
      const { name, offset } = await files.append(packed ?? bytesOf(array), signal);
      encoded.push({
        object_type: "array",
        shape: array.shape,
        dtype: array.dtype,
        data:
          packed === undefined
            ? { encoding: "binref", buffer: `${name}:${offset}` }
            : { encoding: "binref", buffer: `${name}:${offset}:${packed.length}`, compression: "lz4" },
      });
    }
    return encoded;
  } catch (error) {
    await files.release();
    if (error instanceof TesseractError || signal?.aborted === true) throw error;
    throw new TesseractError("FILE_ERROR", `An array can't be written to ${files.directory}: ${String(error)}`, {
      cause: error,
    });
  }
}

async function readAll(
  encoded: readonly ReceivedArray[],
  directory: string,
  memory: AnticipatedMemory,
  { signal }: MessageContext,
): Promise<readonly HostArray[]> {
  refuseBigEndian();
  const arrays: HostArray[] = [];
  for (const array of encoded) {
    arrays.push(await arrayFromBytes(array, await read(array, directory, memory, signal), signal));
  }
  return arrays;
}

/** The files of one message. */
class ArrayFiles implements Lease {
  private readonly names: string[] = [];
  private handle: FileHandle | undefined;
  private size = 0;

  /** @param folder in `directory`; names are relative to the latter. It is made when it is needed. */
  constructor(
    readonly directory: string,
    private readonly folder?: string,
  ) {}

  async append(
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly name: string; readonly offset: number }> {
    if (this.handle === undefined || this.size > LARGEST_FILE) await this.begin();
    const { handle, size: offset } = this;
    for (let written = 0; written < bytes.length; ) {
      signal?.throwIfAborted();
      const step = Math.min(bytes.length - written, WRITE_STEP);
      written += (await (handle as FileHandle).write(bytes, written, step, offset + written)).bytesWritten;
    }
    this.size += bytes.length;
    return { name: this.names[this.names.length - 1] as string, offset };
  }

  /** Nothing more is appended. */
  async finish(): Promise<void> {
    const { handle } = this;
    this.handle = undefined;
    await handle?.close();
  }

  async release(): Promise<void> {
    const removals = this.names.splice(0).map((name) => unlink(join(this.directory, name)));
    for (const outcome of await Promise.allSettled([this.finish(), ...removals])) {
      if (outcome.status === "fulfilled" || (outcome.reason as { code?: unknown }).code === "ENOENT") continue;
      process.emitWarning(`An array's file couldn't be removed: ${String(outcome.reason)}`);
    }
  }

  private async begin(): Promise<void> {
    await this.finish();
    if (this.folder !== undefined) await mkdir(join(this.directory, this.folder), { recursive: true });
    const file = `${randomUUID()}.bin`;
    const name = this.folder === undefined ? file : `${this.folder}/${file}`;
    this.handle = await open(join(this.directory, name), "wx", 0o644);
    this.names.push(name);
    this.size = 0;
  }
}

/** The bytes that a reference names, checked against the file's size before memory is taken for them. */
async function read(
  array: ReceivedArray,
  outputPath: string,
  memory: AnticipatedMemory,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const { path, data, shape, dtype } = array;
  const { file, offset, compressedSize } = parseReference(data.buffer, path);
  if (data.compression !== undefined && compressedSize === undefined) {
    throw new TesseractError(
      "DECODE_FAILED",
      `${path}: the reference to compressed bytes doesn't say how many there are`,
    );
  }
  const size = data.compression === undefined ? elementCount(shape) * itemSize(dtype) : (compressedSize as number);
  const { handle, size: available } = await openWithin(outputPath, file, path);
  try {
    if (offset + size > available) {
      throw new TesseractError(
        "DECODE_FAILED",
        `${path}: the array needs ${size} bytes from ${offset} on, but "${file}" has ${available}`,
      );
    }
    const bytes = await memory.take(size, path);
    await fill(bytes, handle, offset, signal, `${path}: "${file}"`);
    return bytes;
  } finally {
    await handle.close();
  }
}

async function fill(
  bytes: Uint8Array,
  handle: FileHandle,
  offset: number,
  signal: AbortSignal | undefined,
  what: string,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < bytes.length) {
      const start = next;
      const end = Math.min(start + READ_STEP, bytes.length);
      next = end;
      for (let filled = start; filled < end; ) {
        signal?.throwIfAborted();
        const { bytesRead } = await handle.read(bytes, filled, end - filled, offset + filled);
        if (bytesRead === 0) throw new TesseractError("FILE_ERROR", `${what} became shorter while it was read`);
        filled += bytesRead;
      }
    }
  };
  // The file may be closed only when no lane reads any more.
  const lanes = await Promise.allSettled(Array.from({ length: LANES }, lane));
  const failed = lanes.find((outcome) => outcome.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

const missingPath = (name: string): TesseractError =>
  new TesseractError("TRANSPORT_UNUSABLE", `binref was given no ${name}`, { hint: `Pass binref({ ${name} }).` });
