/** Base64 (RFC 4648, section 4) by Node's buffers, whose conversions use the processor's vector instructions. */
import { Buffer } from "node:buffer";
import { decodeInto as decodeByTable } from "./codec.js";

/** Bytes per string: beyond about this many, Node makes an external string, which costs five times as much. */
const SLICE = 24 * 1024;
const MINUS = 0x2d;
const UNDERSCORE = 0x5f;

const bufferOver = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** As its namesake in codec.ts; memory that the process has had before isn't cleared first. */
export function uninitialized(bytes: number): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset } = Buffer.allocUnsafeSlow(bytes);
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, bytes);
}

/** As its namesake in codec.ts. */
export const encodeText = (bytes: Uint8Array): string => bufferOver(bytes).toString("base64");

/** As its namesake in codec.ts. */
export function encodeInto(source: Uint8Array, start: number, end: number, target: Uint8Array, offset: number): void {
  const from = bufferOver(source);
  const to = bufferOver(target);
  let at = offset;
  for (let slice = start; slice < end; slice += SLICE) {
    at += to.write(from.toString("base64", slice, Math.min(end, slice + SLICE)), at, "latin1");
  }
}

/** As its namesake in codec.ts. */
export function decodeInto(text: Uint8Array, start: number, end: number, target: Uint8Array, offset: number): boolean {
  // A few groups are done sooner than a string is made.
  if (end - start < 64) return decodeByTable(text, start, end, target, offset);
  const from = bufferOver(start === 0 && end === text.length ? text : text.subarray(start, end));
  // Node also takes the URL-safe alphabet, which RFC 4648 keeps apart, and skips what is in neither.
  if (from.includes(MINUS) || from.includes(UNDERSCORE)) return false;
  const written = bufferOver(target).write(from.toString("latin1"), offset, "base64");
  return written === (from.length / 4) * 3;
}
