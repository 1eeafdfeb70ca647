import { describe, expect, it } from "vitest";
import { Lz4Error } from "../../src/lz4/frame.js";
import { xxhash32 } from "../../src/lz4/xxhash32.js";
import { golden } from "./golden.js";
import { compress, decompress, randomBytes, randomNumbers } from "./support.js";

/** Makes the header's checksum right again, so that the changes behind it are reached. */
function mendHeader(frame: Uint8Array): void {
  const flags = frame[4] ?? 0;
  const end = 6 + (flags & 8) + ((flags & 1) << 2);
  if (frame.length > end) frame[end] = xxhash32(frame.subarray(4, end)) >>> 8;
}

function mutate(frame: Uint8Array, next: () => number): Uint8Array {
  let bytes = [...frame];
  const changes = 1 + Math.floor(next() * 4);
  for (let i = 0; i < changes; i++) {
    const at = Math.floor(next() * bytes.length);
    const kind = next();
    if (kind < 0.4) bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(next() * 8));
    else if (kind < 0.6) bytes[at] = [0, 255, 15, 240, Math.floor(next() * 256)][Math.floor(next() * 5)] ?? 0;
    else if (kind < 0.7) bytes = bytes.slice(0, at);
    else if (kind < 0.85) bytes.splice(at, Math.floor(next() * 5));
    else bytes.splice(at, 0, ...randomBytes(1 + Math.floor(next() * 5), at));
  }
  const changed = Uint8Array.from(bytes);
  if (next() < 0.7) mendHeader(changed);
  return changed;
}

/** Either the whole target is filled, or an Lz4Error is thrown. `decompress` sees to the bytes beside the target. */
function survives(frame: Uint8Array, length: number): boolean {
  try {
    decompress(frame, length);
    return true;
  } catch (error) {
    if (!(error instanceof Lz4Error)) throw error;
    if (!(error.offset >= 0 && error.offset <= frame.length)) throw new Error(`no such offset: ${error.offset}`);
    return false;
  }
}

const seeds = [
  ...golden.filter(({ frame, content }) => frame.length < 6000 && content.length < 500_000),
  ...[40, 400, 4000].map((length) => {
    const content = randomBytes(length, length).map((byte) => byte & 3);
    return { name: `${length} small numbers`, frame: compress(content), content };
  }),
];

describe("changed frames", () => {
  it.each(seeds)("$name", ({ frame, content }) => {
    const next = randomNumbers(frame.length);
    const outcomes = { accepted: 0, refused: 0 };
    for (let i = 0; i < 200; i++) {
      const length = next() < 0.8 ? content.length : Math.floor(next() * content.length * 2);
      if (survives(mutate(frame, next), length)) outcomes.accepted++;
      else outcomes.refused++;
    }
    expect(outcomes.refused).toBeGreaterThan(50);
  });

  it("random blocks in a good frame", () => {
    const next = randomNumbers(5);
    for (let i = 0; i < 20_000; i++) {
      const length = 1 + Math.floor(next() * 80);
      const frame = new Uint8Array(7 + 4 + length + 4);
      frame.set([0x04, 0x22, 0x4d, 0x18, 0x40, 0x40]);
      mendHeader(frame);
      frame[7] = length;
      // Small values make short sequences with short offsets, which get further than wholly random ones.
      const small = next() < 0.7;
      for (let at = 11; at < 11 + length; at++) {
        const spread = small ? [3, 20, 80][Math.floor(next() * 3)] : 256;
        frame[at] = next() < 0.3 ? 0 : next() * (spread ?? 256);
      }
      survives(frame, Math.floor(next() * 400));
    }
  });
});
