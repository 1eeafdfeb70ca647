/** Base64 (RFC 4648, section 4) in plain TypeScript, for browsers. */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** The code of each character of the alphabet; 64 for every other byte. */
const codes = new Uint8Array(256).fill(64);
for (let i = 0; i < 64; i++) codes[alphabet.charCodeAt(i)] = i;

/** The two characters for each 12 bits, the first in the low byte. */
const pairs = Uint16Array.from(
  { length: 4096 },
  (_, bits) => alphabet.charCodeAt(bits >> 6) | (alphabet.charCodeAt(bits & 63) << 8),
);

/** Memory that is going to be written all over. */
export const uninitialized = (bytes: number): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

/** The base64 of a few kilobytes, as one string. */
export const encodeText = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));

/**
 * Writes the base64 of `source[start..end)` to `target` from `offset` on. `end - start` is a multiple of 3.
 */
export function encodeInto(source: Uint8Array, start: number, end: number, target: Uint8Array, offset: number): void {
  for (let from = start, to = offset; from < end; from += 3, to += 4) {
    const bits = ((source[from] as number) << 16) | ((source[from + 1] as number) << 8) | (source[from + 2] as number);
    const high = pairs[bits >> 12] as number;
    const low = pairs[bits & 0xfff] as number;
    target[to] = high & 0xff;
    target[to + 1] = high >> 8;
    target[to + 2] = low & 0xff;
    target[to + 3] = low >> 8;
  }
}

/**
 * Writes the bytes of the base64 in `text[start..end)` to `target` from `offset` on. `end - start` is a multiple of 4.
 *
 * @returns false if the text has anything but the alphabet; padding counts as such
 */
export function decodeInto(text: Uint8Array, start: number, end: number, target: Uint8Array, offset: number): boolean {
  let invalid = 0;
  for (let from = start, to = offset; from < end; from += 4, to += 3) {
    const a = codes[text[from] as number] as number;
    const b = codes[text[from + 1] as number] as number;
    const c = codes[text[from + 2] as number] as number;
    const d = codes[text[from + 3] as number] as number;
    invalid |= a | b | c | d;
    target[to] = (a << 2) | (b >> 4);
    target[to + 1] = (b << 4) | (c >> 2);
    target[to + 2] = (c << 6) | d;
  }
  return (invalid & 64) === 0;
}
