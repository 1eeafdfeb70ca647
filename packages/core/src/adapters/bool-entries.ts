import { dtypeOfTypedArray } from "../arrays/dtype.js";

/** Booleans as a byte each, 0 or 1, however a library keeps them. Bytes that are so already are returned as they are. */
export function boolEntries(values: ArrayLike<number>): Uint8Array {
  if (dtypeOfTypedArray(values) === "uint8") {
    const bytes = values as Uint8Array;
    if (bytes.every((byte) => byte <= 1)) return bytes;
  }
  const entries = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) entries[i] = values[i] === 0 ? 0 : 1;
  return entries;
}
