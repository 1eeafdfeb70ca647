/** Reads arrays from files that references name. */
import type { FileHandle } from "node:fs/promises";
import { elementCount, itemSize, type ReceivedArray, TesseractError } from "@tesseract-ts/core";
import type { AnticipatedMemory } from "./anticipated-memory.js";
import { openWithin, parseReference } from "./reference.js";

const READ_STEP = 1 << 22;
/**
 * Reads at a time, as many as libuv has threads: to touch fresh memory for the first time costs more than the copy into
 * it, and the kernel does that on several cores at once.
 */
const LANES = 4;

/** The bytes that a reference names, checked against the file's size before memory is taken for them. */
export async function readFile(
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
