import { compressBlock, decompressBlock } from "./block.js";
import { Lz4Error } from "./lz4-error.js";
import { XxHash32, xxhash32 } from "./xxhash32.js";

export { Lz4Error } from "./lz4-error.js";

const MAGIC = 0x184d2204;
/** Sixteen magic numbers, differing in their last four bits, mark frames of anyone's data to be passed over. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const SKIPPABLE_MASK = 0xffff_fff0;

const VERSION = 1;
const INDEPENDENT = 0x20;
const BLOCK_CHECKSUM = 0x10;
const CONTENT_SIZE = 0x08;
const CONTENT_CHECKSUM = 0x04;
const FLAGS_RESERVED = 0x02;
const DICTIONARY_ID = 0x01;
const SIZES_RESERVED = 0x8f;

const STORED = 0x8000_0000;
const WINDOW = 65_536;

/** Block sizes have ids from 4 (64 KiB) to 7 (4 MiB), each four times the one before. */
function blockSizeOf(id: number): number {
  return 2 ** (8 + 2 * id);
}

/** 256 KiB at most: about a millisecond a block, for callers that share their thread, and hardly any larger frames. */
const LARGEST_ID_WRITTEN = 5;

/**
 * Compresses `source` into one frame: independent blocks and the content's size, no checksums, as others write by
 * default. Yields it piece by piece, each piece ready to send and never changed later; a piece may be a view of
 * `source`, so `source` must stay as it is until the pieces are used.
 */
export function* compressFrame(source: Uint8Array): Generator<Uint8Array, void, void> {
  let id = 4;
  while (id < LARGEST_ID_WRITTEN && blockSizeOf(id) < source.length) id++;
  yield header(id, source.length);

  const blockSize = blockSizeOf(id);
  const scratch = new Uint8Array(4 + Math.min(blockSize, source.length));
  const view = new DataView(scratch.buffer);
  for (let at = 0; at < source.length; at += blockSize) {
    const part = source.subarray(at, Math.min(at + blockSize, source.length));
    const length = compressBlock(part, scratch.subarray(4, 3 + part.length));
    if (length > 0) {
      view.setUint32(0, length, true);
      yield scratch.slice(0, 4 + length);
    } else {
      view.setUint32(0, part.length + STORED, true);
      yield scratch.slice(0, 4);
      yield part;
    }
  }
  yield new Uint8Array(4);
}

function header(id: number, contentSize: number): Uint8Array {
  const bytes = new Uint8Array(15);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, MAGIC, true);
  bytes[4] = (VERSION << 6) | INDEPENDENT | CONTENT_SIZE;
  bytes[5] = id << 4;
  view.setUint32(6, contentSize, true);
  view.setUint32(10, Math.floor(contentSize / 2 ** 32), true);
  bytes[14] = xxhash32(bytes.subarray(4, 14)) >>> 8;
  return bytes;
}

/** What a frame's header says. */
interface Descriptor {
  readonly linked: boolean;
  readonly blockChecksum: boolean;
  readonly contentChecksum: boolean;
  readonly contentSize: number | undefined;
  readonly blockSize: number;
}

/**
 * Decompresses `frame` into `target`, whose length is the expected size of the content, to the byte. Yields after
 * every block, so that the caller can let others run. Frames may follow each other, and skippable frames may stand
 * anywhere between them; anything else, more or less output included, is refused as soon as it is seen.
 */
export function* decompressFrame(frame: Uint8Array, target: Uint8Array): Generator<void, void, void> {
  const input = new Input(frame);
  let out = 0;
  let frames = 0;
  do {
    const magicAt = input.at;
    if (frames > 0 && input.left < 4) throw new Lz4Error("trailing bytes after the frame", magicAt);
    const magic = input.uint32("magic number");
    if (magic === MAGIC) {
      out = yield* decompressBlocks(input, readDescriptor(input, target.length - out), target, out);
      frames++;
    } else if ((magic & SKIPPABLE_MASK) === SKIPPABLE_MAGIC) {
      input.take(input.uint32("size of a skippable frame"), "skippable frame");
      yield;
    } else if (frames > 0) {
      throw new Lz4Error("trailing bytes after the frame", magicAt);
    } else {
      throw new Lz4Error(`bad magic number 0x${magic.toString(16).padStart(8, "0")}`, magicAt);
    }
  } while (input.left > 0);
  if (frames === 0) throw new Lz4Error("only skippable frames", input.at);
  if (out !== target.length) throw new Lz4Error(`${out} bytes of content, expected ${target.length}`, input.at);
}

function readDescriptor(input: Input, room: number): Descriptor {
  const start = input.at;
  const flags = input.uint8("frame header");
  const sizes = input.uint8("frame header");
  if (flags >>> 6 !== VERSION) throw new Lz4Error(`unsupported version ${flags >>> 6}`, start);
  if ((flags & FLAGS_RESERVED) !== 0) throw new Lz4Error("a reserved bit is set", start);
  if ((sizes & SIZES_RESERVED) !== 0) throw new Lz4Error("a reserved bit is set", start + 1);
  const id = sizes >>> 4;
  if (id < 4) throw new Lz4Error(`unknown block size ${id}`, start + 1);
  if ((flags & DICTIONARY_ID) !== 0) throw new Lz4Error("the frame needs a dictionary", start);

  let contentSize: number | undefined;
  if ((flags & CONTENT_SIZE) !== 0) {
    const low = input.uint32("content size");
    // Beyond 2^53 the sum is rounded, yet still larger than any array.
    contentSize = low + input.uint32("content size") * 2 ** 32;
  }
  const checksumAt = input.at;
  const expected = (input.between(start, checksumAt) >>> 8) & 0xff;
  if (input.uint8("header checksum") !== expected) throw new Lz4Error("wrong header checksum", checksumAt);
  if (contentSize !== undefined && contentSize > room) {
    throw new Lz4Error(`the content has ${contentSize} bytes, expected ${room}`, start + 2);
  }
  return {
    linked: (flags & INDEPENDENT) === 0,
    blockChecksum: (flags & BLOCK_CHECKSUM) !== 0,
    contentChecksum: (flags & CONTENT_CHECKSUM) !== 0,
    contentSize,
    blockSize: blockSizeOf(id),
  };
}

function* decompressBlocks(
  input: Input,
  descriptor: Descriptor,
  target: Uint8Array,
  start: number,
): Generator<void, number, void> {
  const checksum = descriptor.contentChecksum ? new XxHash32() : undefined;
  const end = Math.min(target.length, start + (descriptor.contentSize ?? target.length));
  let out = start;
  for (;;) {
    const headerAt = input.at;
    const blockHeader = input.uint32("block header");
    if (blockHeader === 0) break;
    const size = blockHeader % STORED;
    if (size > descriptor.blockSize) {
      throw new Lz4Error(`a block of ${size} bytes, where ${descriptor.blockSize} are the most`, headerAt);
    }
    const blockAt = input.at;
    const block = input.take(size, "block");
    if (descriptor.blockChecksum && input.uint32("block checksum") !== xxhash32(block)) {
      throw new Lz4Error("wrong block checksum", input.at - 4);
    }

    const blockStart = out;
    const room = Math.min(descriptor.blockSize, end - out);
    if (blockHeader >= STORED) {
      if (size > room) throw new Lz4Error(`a stored block of ${size} bytes exceeds the output's size`, headerAt);
      target.set(block, out);
      out += size;
    } else {
      // A window of its own keeps the block's positions small whole numbers, however large the target.
      const windowStart = descriptor.linked ? Math.max(start, out - WINDOW) : out;
      const window = target.subarray(windowStart, out + room);
      out = windowStart + decompressBlock(block, window, out - windowStart, blockAt);
    }
    checksum?.update(target.subarray(blockStart, out));
    yield;
  }
  if (descriptor.contentSize !== undefined && out - start !== descriptor.contentSize) {
    throw new Lz4Error(`${out - start} bytes of content, the header says ${descriptor.contentSize}`, input.at);
  }
  if (checksum !== undefined && input.uint32("content checksum") !== checksum.digest()) {
    throw new Lz4Error("wrong content checksum", input.at - 4);
  }
  return out;
}

/** The compressed bytes, read forwards and never past their end. */
class Input {
  at = 0;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get left(): number {
    return this.#bytes.length - this.at;
  }

  uint8(what: string): number {
    this.#need(1, what);
    return this.#view.getUint8(this.at++);
  }

  uint32(what: string): number {
    this.#need(4, what);
    this.at += 4;
    return this.#view.getUint32(this.at - 4, true);
  }

  take(length: number, what: string): Uint8Array {
    this.#need(length, what);
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }

  /** The hash of bytes already read. */
  between(from: number, to: number): number {
    return xxhash32(this.#bytes.subarray(from, to));
  }

  #need(length: number, what: string): void {
    if (length > this.left) throw new Lz4Error(`truncated: the ${what} is cut short`, this.at);
  }
}
