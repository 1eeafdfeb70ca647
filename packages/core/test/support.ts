import { expect } from "vitest";
import { type ErrorCode, TesseractError } from "../src/errors.js";

/** Matches a TesseractError with this code, and with a message that has all of `words` in it. */
export const tesseractError = (code: ErrorCode, ...words: readonly string[]): unknown =>
  expect.toSatisfy(
    (error: unknown) =>
      error instanceof TesseractError && error.code === code && words.every((word) => error.message.includes(word)),
    `a TesseractError ${[code, ...words].join(", ")}`,
  );

/** What `work` throws, or rejects with; an error if it does neither. */
export async function failureOf(work: () => unknown): Promise<TesseractError> {
  try {
    await work();
  } catch (error) {
    if (error instanceof TesseractError) return error;
    throw new Error(`Expected a TesseractError, but got ${String(error)}`, { cause: error });
  }
  throw new Error("Expected a TesseractError, but nothing was thrown");
}

/** Repeatable numbers from 0 to below 1, for tests only. */
export function randomNumbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Pieces of at most `most` bytes each; the sizes are random if `next` is given. */
export function pieces(bytes: Uint8Array, most: number, next?: () => number): Uint8Array[] {
  const cut: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = next === undefined ? most : 1 + Math.floor(next() * most);
    // A copy: who takes a piece may not rely on what stands beside it.
    cut.push(bytes.slice(at, at + size));
    at += size;
  }
  return cut;
}

/** A changed copy: bits flipped, bytes replaced, removed, repeated, inserted, or the end cut off. */
export function mutated(bytes: Uint8Array, next: () => number): Uint8Array {
  const changed = [...bytes];
  const index = (length: number): number => Math.floor(next() * length);
  for (let changes = 1 + index(3); changes > 0; changes--) {
    const at = index(changed.length);
    const kind = next();
    if (kind < 0.3) changed[at] = (changed[at] ?? 0) ^ (1 << index(8));
    else if (kind < 0.5) changed[at] = utf8('"\\{}[]:,0-e.tn\u0000')[index(15)] ?? 0xff;
    else if (kind < 0.6) changed[at] = index(256);
    else if (kind < 0.75) changed.splice(at, 1 + index(6));
    else if (kind < 0.9) changed.splice(at, 0, ...changed.slice(index(changed.length)).slice(0, 1 + index(12)));
    else changed.length = at;
  }
  return Uint8Array.from(changed);
}
