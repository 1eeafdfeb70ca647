/** An array's bytes, plain or compressed. */
import {
  elementCount,
  type HostArray,
  itemSize,
  makeHostArray,
  type ReceivedArray,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";
import { allocate } from "./allocate.js";
import { compressFrame, decompressFrame } from "./lz4/frame.js";
import { Lz4Error } from "./lz4/lz4-error.js";
import { inTurns } from "./turns.js";

/** No block of LZ4 grows by more than this: a match's length takes a byte for each 255 bytes of it. */
const LARGEST_RATIO = 255;

/** One LZ4 frame of `bytes`. The event loop gets its turn between the frame's blocks. */
export async function compress(bytes: Uint8Array, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  await inTurns(compressFrame(bytes), signal, (piece) => pieces.push(piece));
  const frame = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let offset = 0;
  for (const piece of pieces) {
    frame.set(piece, offset);
    offset += piece.length;
  }
  return frame;
}

/**
 * The array that `bytes` are, after decompression if the message says so. Plain bytes become the array's memory.
 *
 * @throws TesseractError DECODE_FAILED
 */
export async function arrayFromBytes(
  { path, dtype, shape, data }: ReceivedArray,
  bytes: Uint8Array,
  context: { readonly signal?: AbortSignal | undefined },
): Promise<HostArray> {
  const elements = elementCount(shape);
  const expected = elements * itemSize(dtype);
  const array = (from: Uint8Array): HostArray => {
    if (dtype === "bool" && from.some((byte) => byte > 1)) {
      throw new TesseractError("DECODE_FAILED", `${path}: an array of bool has a byte that is neither 0 nor 1`);
    }
    return makeHostArray(dtype, shape, viewAs(dtype, from.buffer, from.byteOffset, elements));
  };
  if (data.compression === "lz4") return array(await decompress(bytes, expected, path, context.signal));
  if (bytes.length !== expected) {
    throw new TesseractError(
      "DECODE_FAILED",
      `${path}: the shape [${shape.join(", ")}] of ${dtype} needs ${expected} bytes, but the buffer has ${bytes.length}`,
    );
  }
  return array(bytes.byteOffset % 8 === 0 ? bytes : bytes.slice());
}

async function decompress(
  frame: Uint8Array,
  expected: number,
  path: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (expected > frame.length * LARGEST_RATIO) {
    throw new TesseractError(
      "DECODE_FAILED",
      `${path}: ${frame.length} bytes of LZ4 can't be the ${expected} bytes that the shape and dtype need`,
    );
  }
  const target = allocate(expected, path);
  try {
    await inTurns(decompressFrame(frame, target), signal);
  } catch (error) {
    if (!(error instanceof Lz4Error)) throw error;
    throw new TesseractError("DECODE_FAILED", `${path}: ${error.message}`, { cause: error });
  }
  return target;
}
