/** Decodes base64 while it arrives. */

import { type BufferSink, elementCount, isDType, itemSize, TesseractError } from "@tesseract-ts/core";
import { decodeInto } from "#base64";
import { allocate } from "../allocate.js";

/** Memory is taken for what a message announces once this much of it has really come. */
const TRUSTED = 1 << 20;

/**
 * The most bytes that LZ4 makes of `bytes` (its frames add a few to each incompressible block), or that plain data
 * takes up.
 */
const mostEncoded = (bytes: number): number => bytes + Math.ceil(bytes / 255) + (1 << 16);

export class Base64Sink implements BufferSink {
  private target: Uint8Array<ArrayBuffer>;
  private length = 0;
  /** Characters that don't make up a body yet: the last 1 to 4, of which padding may be. */
  private readonly held = new Uint8Array(4);
  private heldCount = 0;
  private taken = 0;
  private readonly limit: number;

  /**
   * @param path where in the message the array stands
   * @param expected how many bytes there will be unless they are compressed, if known
   * @param atMost how many characters can follow, if known
   */
  constructor(
    private readonly path: string,
    private readonly expected: number | undefined,
    atMost?: number,
  ) {
    const announced = atMost === undefined ? Number.POSITIVE_INFINITY : Math.ceil(atMost / 4) * 3;
    this.limit = expected === undefined ? announced : Math.min(announced, mostEncoded(expected));
    // What isn't written doesn't leave here: `end` gives what has been.
    this.target = allocate(Math.min(expected ?? TRUSTED, this.limit, TRUSTED), path);
  }

  write(text: Uint8Array): void {
    let at = 0;
    if (this.heldCount > 0) {
      while (this.heldCount < 4 && at < text.length) this.held[this.heldCount++] = text[at++] as number;
      if (at === text.length) return;
      this.decode(this.held, 0, 4);
      this.heldCount = 0;
    }
    // At least one character stays behind, so that the last group is decoded with its padding.
    const body = at + Math.floor((text.length - at - 1) / 4) * 4;
    if (body > at) this.decode(text, at, body);
    for (at = Math.max(at, body); at < text.length; at++) this.held[this.heldCount++] = text[at] as number;
  }

  end(): Uint8Array<ArrayBuffer> {
    if (this.heldCount > 0) {
      if (this.heldCount < 4) throw this.invalid("it isn't a multiple of 4 characters long");
      const padding = this.held[3] !== PAD ? 0 : this.held[2] !== PAD ? 1 : 2;
      this.held.fill(ZERO_BITS, 4 - padding);
      this.decode(this.held, 0, 4, padding);
    }
    return this.target.subarray(0, this.length);
  }

  private decode(text: Uint8Array, start: number, end: number, padding = 0): void {
    const bytes = ((end - start) / 4) * 3;
    this.reserve(this.length + bytes - padding);
    let ok: boolean;
    if (this.length + bytes > this.target.length) {
      // The last group's padding stands for bytes that there is no room for.
      const group = new Uint8Array(bytes);
      ok = decodeInto(text, start, end, group, 0);
      this.target.set(group.subarray(0, bytes - padding), this.length);
    } else {
      ok = decodeInto(text, start, end, this.target, this.length);
    }
    if (!ok) throw this.invalid("it has a character that isn't in the alphabet");
    this.length += bytes - padding;
    this.taken += end - start;
  }

  private invalid(problem: string): TesseractError {
    const message = `${this.path}: the buffer isn't base64: after ${this.taken} characters, ${problem}`;
    return new TesseractError("DECODE_FAILED", message);
  }

  private reserve(bytes: number): void {
    if (bytes <= this.target.length) return;
    if (bytes > this.limit) {
      throw new TesseractError(
        "DECODE_FAILED",
        `${this.path}: a base64 buffer has more bytes than its array of ${this.expected ?? this.limit} bytes can take up`,
      );
    }
    const doubled = Math.max(bytes, this.target.length * 2);
    const wanted = this.expected !== undefined && bytes <= this.expected ? this.expected : doubled;
    const grown = allocate(Math.min(Math.max(bytes, wanted), this.limit), this.path);
    grown.set(this.target.subarray(0, this.length));
    this.target = grown;
  }
}

/** The bytes of an array with what a message says of its shape and dtype; undefined if that makes no sense. */
export function expectedBytes(shape: unknown, dtype: unknown): number | undefined {
  if (!isDType(dtype) || !Array.isArray(shape)) return undefined;
  const bytes = shape.every((size) => Number.isSafeInteger(size) && size >= 0)
    ? elementCount(shape) * itemSize(dtype)
    : -1;
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : undefined;
}

const PAD = 0x3d;
/** The character that stands for six zero bits. */
const ZERO_BITS = 0x41;
