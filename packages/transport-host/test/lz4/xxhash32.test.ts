import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { XxHash32, xxhash32 } from "../../src/lz4/xxhash32.js";
import { randomBytes } from "./support.js";

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

describe("xxhash32", () => {
  it.each([
    ["", 0, 0x02cc5d05],
    ["", 0x9e3779b1, 0x36b78ae7],
    ["a", 0, 0x550d7456],
    ["abc", 0, 0x32d153ff],
    ["Nobody inspects the spammish repetition", 0, 0xe2293b2f],
  ])("of %j with seed %i", (text, seed, expected) => {
    expect(xxhash32(ascii(text), seed)).toBe(expected);
  });

  it("is the same for bytes that come in parts", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 8 }),
        fc.integer({ min: 0, max: 0xffff_ffff }),
        (parts, seed) => {
          const hash = new XxHash32(seed);
          for (const part of parts) hash.update(part);
          expect(hash.digest()).toBe(xxhash32(Uint8Array.from(parts.flatMap((part) => [...part])), seed));
        },
      ),
    );
  });

  it("does not depend on where in their buffer the bytes lie", () => {
    const bytes = randomBytes(100, 1);
    const moved = new Uint8Array(103);
    moved.set(bytes, 3);
    expect(xxhash32(moved.subarray(3))).toBe(xxhash32(bytes));
  });

  it("can be read, and then go on", () => {
    const hash = new XxHash32().update(ascii("Nobody inspects "));
    hash.digest();
    expect(hash.update(ascii("the spammish repetition")).digest()).toBe(0xe2293b2f);
  });
});
