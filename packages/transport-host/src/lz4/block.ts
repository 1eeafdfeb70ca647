import { Lz4Error } from "./lz4-error.js";

/** A match is worth at least its token and its offset; the format counts its length from here. */
const MIN_MATCH = 4;
/** The largest distance an offset of two bytes can say. */
const MAX_DISTANCE = 65_535;
/** The block format's end rules: the last bytes are literals, and no match begins this close to the end. */
const LAST_LITERALS = 5;
const MATCH_LIMIT = 12;

const HASH_BITS = 14;
/** After each 2^SKIP positions without a match the search strides one byte wider. */
const SKIP = 5;

/** From this length on, the engine's own copying is worth the call. */
const LONG_COPY = 96;
/** What a short sequence reads and writes at most, in whole words: 16 and 2 bytes in, 14 and 20 out. */
const SHORT_IN = 18;
const SHORT_OUT = 34;

/** Shared by all, since a block is compressed in one go; 64 KiB, made when first needed. */
let hashTable: Int32Array | undefined;

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Of five bytes, though four make a match: the shortest matches gain a byte each and cost the most time. */
function hash(low: number, fifth: number): number {
  return Math.imul(low ^ (fifth << 16), 0x9e3779b1) >>> (32 - HASH_BITS);
}

/**
 * Compresses one block on its own. Returns how many bytes it wrote to `target`, or 0 when they do not fit: the
 * caller makes `target` one byte shorter than `source` to learn that storing is no worse.
 */
export function compressBlock(source: Uint8Array, target: Uint8Array): number {
  // Zeros do for "nothing seen yet": position 0 is a true position, and every candidate is compared before use.
  hashTable ??= new Int32Array(1 << HASH_BITS);
  const table = hashTable.fill(0);
  const view = viewOf(source);
  const length = source.length;
  const capacity = target.length;
  const lastStart = length - MATCH_LIMIT;
  const matchEnd = length - LAST_LITERALS;
  let anchor = 0;
  let out = 0;
  let at = 1;

  while (at <= lastStart) {
    let word = 0;
    let match = 0;
    let attempts = 1 << SKIP;
    for (;;) {
      word = view.getInt32(at, true);
      const slot = hash(word, source[at + 4] as number);
      match = table[slot] as number;
      table[slot] = at;
      if (at - match <= MAX_DISTANCE && view.getInt32(match, true) === word) break;
      at += attempts++ >>> SKIP;
      if (at > lastStart) break;
    }
    if (at > lastStart) break;

    let end = at + MIN_MATCH;
    let other = match + MIN_MATCH;
    while (at > anchor && match > 0 && source[at - 1] === source[match - 1]) {
      at--;
      match--;
    }
    let difference = 0;
    while (end + 4 <= matchEnd) {
      difference = view.getInt32(end, true) ^ view.getInt32(other, true);
      if (difference !== 0) break;
      end += 4;
      other += 4;
    }
    if (difference !== 0) end += (31 - Math.clz32(difference & -difference)) >>> 3;
    else {
      while (end < matchEnd && source[end] === source[other]) {
        end++;
        other++;
      }
    }

    const literals = at - anchor;
    const extra = end - at - MIN_MATCH;
    // Token, offset, literals, and both lengths' further bytes at their most.
    if (out + 5 + literals + ((literals / 255) | 0) + ((extra / 255) | 0) > capacity) return 0;
    const tokenAt = out++;
    if (literals >= 15) out = writeLength(target, out, literals - 15);
    out = copyLiterals(source, anchor, at, target, out);
    target[out] = at - match;
    target[out + 1] = (at - match) >>> 8;
    out += 2;
    target[tokenAt] = (Math.min(literals, 15) << 4) | Math.min(extra, 15);
    if (extra >= 15) out = writeLength(target, out, extra - 15);
    anchor = end;
    at = end;
    if (at <= lastStart) table[hash(view.getInt32(at - 2, true), source[at + 2] as number)] = at - 2;
  }

  const literals = length - anchor;
  if (out + 2 + literals + ((literals / 255) | 0) > capacity) return 0;
  target[out++] = Math.min(literals, 15) << 4;
  if (literals >= 15) out = writeLength(target, out, literals - 15);
  return copyLiterals(source, anchor, length, target, out);
}

function writeLength(target: Uint8Array, at: number, length: number): number {
  let rest = length;
  let out = at;
  for (; rest >= 255; rest -= 255) target[out++] = 255;
  target[out++] = rest;
  return out;
}

function copyLiterals(source: Uint8Array, from: number, to: number, target: Uint8Array, at: number): number {
  if (to - from >= LONG_COPY) target.set(source.subarray(from, to), at);
  else for (let i = from, out = at; i < to; i++, out++) target[out] = source[i] as number;
  return at + to - from;
}

/**
 * Decompresses one block into `window` from `start`, where `window` begins with the output that matches may reach
 * back to and ends where this block must end at the latest. Returns where the output ended. Every length and offset
 * is checked before it is used; `offset` is the block's place in the frame, for the errors only.
 */
export function decompressBlock(block: Uint8Array, window: Uint8Array, start: number, offset = 0): number {
  const from = viewOf(block);
  const to = viewOf(window);
  const end = block.length;
  const limit = window.length;
  const shortIn = end - SHORT_IN;
  const shortOut = limit - SHORT_OUT;
  let at = 0;
  let out = start;

  for (;;) {
    if (at >= end) throw new Lz4Error("the block ends where a token must be", offset + at);
    const token = block[at++] as number;
    let length = token >>> 4;

    // Most sequences are short and far from the ends: they are copied in whole words, and what these write past the
    // sequence's end is overwritten by what follows. All others, and the faulty, take the way below.
    if (length < 15 && at <= shortIn && out <= shortOut) {
      to.setInt32(out, from.getInt32(at, true), true);
      if (length > 4) {
        to.setInt32(out + 4, from.getInt32(at + 4, true), true);
        if (length > 8) {
          to.setInt32(out + 8, from.getInt32(at + 8, true), true);
          to.setInt32(out + 12, from.getInt32(at + 12, true), true);
        }
      }
      at += length;
      out += length;
      length = token & 15;
      const distance = from.getUint16(at, true);
      const match = out - distance;
      if (length < 15 && distance >= 4 && match >= 0) {
        at += 2;
        to.setInt32(out, to.getInt32(match, true), true);
        to.setInt32(out + 4, to.getInt32(match + 4, true), true);
        if (length > 4) {
          to.setInt32(out + 8, to.getInt32(match + 8, true), true);
          to.setInt32(out + 12, to.getInt32(match + 12, true), true);
          if (length > 12) to.setInt32(out + 16, to.getInt32(match + 16, true), true);
        }
        out += length + MIN_MATCH;
        continue;
      }
      length = 0;
    }

    if (length === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) throw new Lz4Error("the block ends inside a literal length", offset + at);
        more = block[at++] as number;
        length += more;
      }
    }
    if (length > end - at) throw new Lz4Error(`${length} literals, but the block ends`, offset + at);
    if (length > limit - out) throw new Lz4Error(`${length} literals exceed the output's size`, offset + at);
    if (length >= LONG_COPY) window.set(block.subarray(at, at + length), out);
    else for (let i = 0; i < length; i++) window[out + i] = block[at + i] as number;
    at += length;
    out += length;
    if (at === end) return out;

    if (end - at < 2) throw new Lz4Error("the block ends inside an offset", offset + at);
    const distance = (block[at] as number) | ((block[at + 1] as number) << 8);
    if (distance === 0 || distance > out) {
      throw new Lz4Error(`a match ${distance} bytes back, where ${out} are there`, offset + at);
    }
    at += 2;

    length = token & 15;
    if (length === 15) {
      let more = 255;
      while (more === 255) {
        if (at >= end) throw new Lz4Error("the block ends inside a match length", offset + at);
        more = block[at++] as number;
        length += more;
      }
    }
    length += MIN_MATCH;
    if (length > limit - out) throw new Lz4Error(`a match of ${length} bytes exceeds the output's size`, offset + at);
    if (length >= LONG_COPY) copyLongMatch(window, out, distance, length);
    else if (distance >= 4 && limit - out >= length + 4) {
      for (let i = out, match = out - distance, stop = out + length; i < stop; i += 4, match += 4) {
        to.setInt32(i, to.getInt32(match, true), true);
      }
    } else
      for (let i = out, match = out - distance, stop = out + length; i < stop; i++, match++) {
        window[i] = window[match] as number;
      }
    out += length;
  }
}

/** A match may overlap what it writes: each turn copies all that the pattern has by then. */
function copyLongMatch(window: Uint8Array, out: number, distance: number, length: number): void {
  const match = out - distance;
  if (distance === 1) {
    window.fill(window[match] as number, out, out + length);
    return;
  }
  for (let done = 0; done < length; ) {
    const part = Math.min(distance + done, length - done);
    window.copyWithin(out + done, match, match + part);
    done += part;
  }
}
