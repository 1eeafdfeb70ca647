const P1 = 0x9e3779b1 | 0;
const P2 = 0x85ebca77 | 0;
const P3 = 0xc2b2ae3d | 0;
const P4 = 0x27d4eb2f | 0;
const P5 = 0x165667b1 | 0;

/** One stripe: four lanes of four bytes. */
const STRIPE = 16;

function round(lane: number, input: number): number {
  const sum = (lane + Math.imul(input, P2)) | 0;
  return Math.imul((sum << 13) | (sum >>> 19), P1);
}

/** xxHash32 over bytes that arrive in parts. */
export class XxHash32 {
  readonly #seed: number;
  #a: number;
  #b: number;
  #c: number;
  #d: number;
  readonly #rest = new Uint8Array(STRIPE);
  #restLength = 0;
  #total = 0;

  constructor(seed = 0) {
    this.#seed = seed | 0;
    this.#a = (seed + P1 + P2) | 0;
    this.#b = (seed + P2) | 0;
    this.#c = seed | 0;
    this.#d = (seed - P1) | 0;
  }

  update(bytes: Uint8Array): this {
    this.#total += bytes.length;
    let at = 0;
    if (this.#restLength > 0) {
      at = Math.min(STRIPE - this.#restLength, bytes.length);
      this.#rest.set(bytes.subarray(0, at), this.#restLength);
      this.#restLength += at;
      if (this.#restLength < STRIPE) return this;
      this.#stripes(this.#rest, 0, STRIPE);
      this.#restLength = 0;
    }
    const whole = at + Math.floor((bytes.length - at) / STRIPE) * STRIPE;
    this.#stripes(bytes, at, whole);
    this.#restLength = bytes.length - whole;
    this.#rest.set(bytes.subarray(whole));
    return this;
  }

  /** The hash of what came so far, as an unsigned number; more may follow. */
  digest(): number {
    // With less than one stripe in all, the lanes have never been used and the seed stands in for them.
    let hash =
      this.#total < STRIPE
        ? (this.#seed + P5) | 0
        : (rotate(this.#a, 1) + rotate(this.#b, 7) + rotate(this.#c, 12) + rotate(this.#d, 18)) | 0;
    hash = (hash + this.#total) | 0;
    const rest = this.#rest;
    const length = this.#restLength;
    let at = 0;
    for (; at + 4 <= length; at += 4) {
      const word =
        (rest[at] as number) |
        ((rest[at + 1] as number) << 8) |
        ((rest[at + 2] as number) << 16) |
        ((rest[at + 3] as number) << 24);
      hash = Math.imul(rotate((hash + Math.imul(word, P3)) | 0, 17), P4);
    }
    for (; at < length; at++) hash = Math.imul(rotate((hash + Math.imul(rest[at] as number, P5)) | 0, 11), P1);
    hash = Math.imul(hash ^ (hash >>> 15), P2);
    hash = Math.imul(hash ^ (hash >>> 13), P3);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  #stripes(bytes: Uint8Array, from: number, to: number): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset + from, to - from);
    const length = to - from;
    let a = this.#a;
    let b = this.#b;
    let c = this.#c;
    let d = this.#d;
    for (let at = 0; at < length; at += STRIPE) {
      a = round(a, view.getInt32(at, true));
      b = round(b, view.getInt32(at + 4, true));
      c = round(c, view.getInt32(at + 8, true));
      d = round(d, view.getInt32(at + 12, true));
    }
    this.#a = a;
    this.#b = b;
    this.#c = c;
    this.#d = d;
  }
}

function rotate(value: number, by: number): number {
  return (value << by) | (value >>> (32 - by));
}

/** xxHash32 of the bytes, as an unsigned number. */
export function xxhash32(bytes: Uint8Array, seed = 0): number {
  return new XxHash32(seed).update(bytes).digest();
}
