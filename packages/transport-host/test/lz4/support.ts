import { compressFrame, decompressFrame } from "../../src/lz4/frame.js";

export function concat(parts: Iterable<Uint8Array>): Uint8Array {
  const all = [...parts];
  const joined = new Uint8Array(all.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of all) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

export function compress(source: Uint8Array): Uint8Array {
  return concat(compressFrame(source));
}

export function decompress(frame: Uint8Array, length: number): Uint8Array {
  // Decompress into the middle of a larger array, to see that nothing is written beside the target.
  const guarded = new Uint8Array(length + 128).fill(0xa5);
  const target = guarded.subarray(64, 64 + length);
  let failure: unknown;
  try {
    for (const _ of decompressFrame(frame, target));
  } catch (error) {
    failure = error;
  }
  for (let i = 0; i < 64; i++) {
    if (guarded[i] !== 0xa5 || guarded[64 + length + i] !== 0xa5) throw new Error("written outside the target");
  }
  if (failure !== undefined) throw failure;
  return target;
}

export function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Small and repeatable, for tests only. */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function randomBytes(length: number, seed: number): Uint8Array {
  const next = randomNumbers(seed);
  return Uint8Array.from({ length }, () => next() * 256);
}

/** Compares without walking the arrays element by element in the assertion library, which takes seconds for megabytes. */
export function firstDifference(a: Uint8Array, b: Uint8Array): number {
  if (a.length !== b.length) return Math.min(a.length, b.length);
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return i;
  return -1;
}
