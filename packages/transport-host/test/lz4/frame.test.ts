import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compressFrame, decompressFrame, Lz4Error } from "../../src/lz4/frame.js";
import { xxhash32 } from "../../src/lz4/xxhash32.js";
import { golden } from "./golden.js";
import { compress, concat, decompress, firstDifference, randomBytes } from "./support.js";

const bytesOf = (numbers: Float64Array): Uint8Array => new Uint8Array(numbers.buffer);

function expectRoundTrip(source: Uint8Array): Uint8Array {
  const frame = compress(source);
  expect(firstDifference(decompress(frame, source.length), source)).toBe(-1);
  return frame;
}

describe("frames of Python's lz4", () => {
  it.each(golden)("$name", ({ frame, content }) => {
    expect(firstDifference(decompress(frame, content.length), content)).toBe(-1);
  });

  it.each(golden)("$name: a target of another length is refused", ({ frame, content }) => {
    expect(() => decompress(frame, content.length + 1)).toThrow(Lz4Error);
    if (content.length > 0) expect(() => decompress(frame, content.length - 1)).toThrow(Lz4Error);
  });

  it.each(golden)("$name: cut short anywhere", ({ frame, content }) => {
    const step = Math.ceil(frame.length / 50);
    for (let length = 0; length < frame.length; length += step) {
      // Between two frames, or before a skippable one, is no wrong place to end, but then content is missing.
      const cut = frame.subarray(0, length);
      try {
        expect(firstDifference(decompress(cut, content.length), content)).toBe(-1);
      } catch (error) {
        expect(error).toBeInstanceOf(Lz4Error);
        continue;
      }
      expect(frame.length - length).toBe(13);
    }
  });
});

describe("round trips", () => {
  it("of short arrays of any bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), (source) => void expectRoundTrip(source)));
  });

  it("of repetitive bytes", () => {
    const run = fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 2000 }));
    fc.assert(
      fc.property(fc.array(run, { maxLength: 8 }), (runs) => {
        const parts = runs.flatMap(([part, times]) => new Array<Uint8Array>(times).fill(part));
        expectRoundTrip(concat(parts));
      }),
    );
  });

  it("of numbers", () => {
    fc.assert(
      fc.property(
        fc.float64Array({ maxLength: 500 }),
        fc.integer({ min: 1, max: 40 }),
        fc.double({ noNaN: true }),
        (some, repeat, slope) => {
          const numbers = Float64Array.from({ length: some.length * repeat }, (_, i) => some[i % some.length] ?? 0);
          expectRoundTrip(bytesOf(numbers));
          expectRoundTrip(bytesOf(numbers.map((_, i) => i * slope)));
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each([65_535, 65_536, 65_537, 262_144, 262_145, 1_048_576, 1_048_577, 2_500_000])(
    "of %i bytes, random, constant and in between",
    (length) => {
      const random = randomBytes(length, length);
      expect(expectRoundTrip(random).length).toBe(19 + 4 * Math.ceil(length / 262_144) + length);
      expect(expectRoundTrip(new Uint8Array(length)).length).toBeLessThan(length / 200 + 50);
      expectRoundTrip(random.map((byte, i) => (i % 5000 < 200 ? byte : i % 8)));
      expectRoundTrip(random.map((byte) => byte & 1));
    },
  );

  it("of bytes that lie in the middle of a buffer", () => {
    const source = randomBytes(10_000, 3).map((byte) => byte & 3);
    expectRoundTrip(source.subarray(1, 9_998));
  });

  it("of the distances at which a match can just be said", () => {
    for (const distance of [65_534, 65_535, 65_536]) {
      const unit = randomBytes(distance, distance);
      expectRoundTrip(concat([unit, unit, unit]));
    }
  });
});

describe("compressFrame", () => {
  it("yields the header, each block and the end mark, with pieces that stay as they are", () => {
    const source = new Uint8Array(600_000).map((_, i) => i >>> 16);
    const pieces: Uint8Array[] = [];
    const copies: Uint8Array[] = [];
    for (const piece of compressFrame(source)) {
      pieces.push(piece);
      copies.push(piece.slice());
    }
    expect(pieces.length).toBe(5);
    expect(pieces).toEqual(copies);
  });

  it("stores what does not get smaller, without a copy", () => {
    const source = randomBytes(1000, 2);
    const pieces = [...compressFrame(source)];
    expect(pieces.map((piece) => piece.length)).toEqual([15, 4, 1000, 4]);
    expect(pieces[2]?.buffer).toBe(source.buffer);
  });

  it("writes the empty content", () => {
    expect([...compress(new Uint8Array(0))]).toEqual([
      ...[0x04, 0x22, 0x4d, 0x18, 0x68, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0x05],
      ...[0, 0, 0, 0],
    ]);
  });
});

/** A frame made by hand: flags and sizes as given, the header's checksum right. */
function frameOf(flags: number, sizes: number, extra: readonly number[], rest: readonly number[]): Uint8Array {
  const descriptor = [flags, sizes, ...extra];
  const checksum = (xxhash32(Uint8Array.from(descriptor)) >>> 8) & 0xff;
  return Uint8Array.from([0x04, 0x22, 0x4d, 0x18, ...descriptor, checksum, ...rest]);
}

const END = [0, 0, 0, 0];
const block = (...bytes: number[]): number[] => [bytes.length, bytes.length >>> 8, 0, 0, ...bytes];
const simple = (...rest: number[]): Uint8Array => frameOf(0x60, 0x40, [], rest);

describe("decompressFrame refuses", () => {
  it.each<[string, Uint8Array, number, RegExp]>([
    ["nothing at all", new Uint8Array(0), 0, /truncated.*magic number.*byte 0/],
    ["a bad magic number", Uint8Array.from([1, 2, 3, 4, 5, 6, 7]), 0, /bad magic number 0x04030201/],
    ["the legacy format", Uint8Array.from([2, 0x21, 0x4c, 0x18, 0, 0, 0, 0]), 0, /bad magic number 0x184c2102/],
    ["version 0", frameOf(0x20, 0x40, [], END), 0, /version 0/],
    ["version 2", frameOf(0xa0, 0x40, [], END), 0, /version 2/],
    ["a reserved flag", frameOf(0x62, 0x40, [], END), 0, /reserved/],
    ["a reserved high bit", frameOf(0x60, 0xc0, [], END), 0, /reserved/],
    ["a reserved low bit", frameOf(0x60, 0x41, [], END), 0, /reserved/],
    ["a block size of 16 KB", frameOf(0x60, 0x30, [], END), 0, /block size 3/],
    ["a dictionary", frameOf(0x61, 0x40, [1, 2, 3, 4], END), 0, /dictionary/],
    ["only a skippable frame", Uint8Array.from([0x50, 0x2a, 0x4d, 0x18, 1, 0, 0, 0, 9]), 0, /only skippable/],
    ["a skippable frame cut short", Uint8Array.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9]), 0, /truncated/],
    ["a huge content size", frameOf(0x68, 0x40, [0, 0, 0, 0, 0, 0, 0, 0xff], END), 9, /content has/],
    [
      "a content size too large",
      frameOf(0x68, 0x40, [2, 0, 0, 0, 0, 0, 0, 0], END),
      1,
      /content has 2 bytes, expected 1/,
    ],
    ["less than the content size", frameOf(0x68, 0x40, [1, 0, 0, 0, 0, 0, 0, 0], END), 1, /0 bytes.*header says 1/],
    ["more than the content size", frameOf(0x68, 0x40, [1, 0, 0, 0, 0, 0, 0, 0], block(0x20, 1, 2)), 2, /exceed/],
    ["less than the target", simple(...block(0x10, 1), ...END), 2, /1 bytes of content, expected 2/],
    ["a stored block too large", simple(2, 0, 0, 0x80, 1, 2, ...END), 1, /stored block of 2 bytes/],
    ["a block above the largest size", simple(1, 0, 1, 0, 0), 1, /65537 bytes/],
    ["a stored block above the largest size", simple(1, 0, 1, 0x80, 0), 70_000, /65537 bytes/],
    ["a block cut short", simple(9, 0, 0, 0, 1), 1, /truncated: the block/],
    ["no end mark", simple(...block(0x10, 1)), 1, /truncated: the block header/],
    ["trailing bytes", simple(...END, 7), 0, /trailing bytes.*byte 11/],
    ["many trailing bytes", simple(...END, 7, 7, 7, 7, 7), 0, /trailing bytes.*byte 11/],
    ["literals past the block", simple(...block(0x50, 1, 2), ...END), 5, /5 literals, but/],
    ["a literal length cut short", simple(...block(0xf0, 255), ...END), 5, /inside a literal length/],
    ["an offset cut short", simple(...block(0x10, 1, 1), ...END), 5, /inside an offset/],
    ["an offset of 0", simple(...block(0x10, 1, 0, 0, 0), ...END), 5, /match 0 bytes back/],
    ["an offset before the start", simple(...block(0x10, 1, 2, 0, 0), ...END), 5, /match 2 bytes back, where 1/],
    ["a match length cut short", simple(...block(0x1f, 1, 1, 0), ...END), 99, /inside a match length/],
    ["a match at the block's end", simple(...block(0x10, 1, 1, 0), ...END), 5, /where a token must be/],
    ["a match that exceeds", simple(...block(0x1f, 1, 1, 0, 200, 0), ...END), 99, /match of 219 bytes exceeds/],
  ])("%s", (_, frame, length, message) => {
    expect(() => decompress(frame, length)).toThrow(Lz4Error);
    expect(() => decompress(frame, length)).toThrow(message);
  });

  it("a block that grows above the largest size, though the target has room", () => {
    const zeros = new Array<number>(300).fill(255);
    const frame = simple(...block(0x1f, 1, 1, 0, ...zeros, 0, 0), ...END);
    expect(() => decompress(frame, 200_000)).toThrow(/exceeds/);
  });

  it("a match into an earlier block, where blocks are independent, or into an earlier frame", () => {
    const first = block(0x40, 1, 2, 3, 4);
    const second = block(0x00, 4, 0, 0);
    expect(() => decompress(simple(...first, ...second, ...END), 8)).toThrow(/4 bytes back, where 0/);
    const linked = frameOf(0x40, 0x40, [], [...first, ...block(0x00, 4, 0, 0x00), ...END]);
    expect([...decompress(linked, 8)]).toEqual([1, 2, 3, 4, 1, 2, 3, 4]);
    const frames = concat([simple(...first, ...END), frameOf(0x40, 0x40, [], [...second, ...END])]);
    expect(() => decompress(frames, 8)).toThrow(/4 bytes back, where 0/);
  });

  it("a wrong header, block or content checksum", () => {
    const all = golden.find(({ name }) => name === "stored block, all checksums");
    if (all === undefined) throw new Error("no such golden frame");
    const { frame, content } = all;
    for (const [at, message] of [
      [6, /wrong header checksum.*byte 6/],
      [100, /wrong block checksum/],
      [frame.length - 10, /wrong block checksum/],
      [frame.length - 1, /wrong content checksum/],
    ] as const) {
      const bad = frame.slice();
      bad[at] = (bad[at] ?? 0) ^ 1;
      expect(() => decompress(bad, content.length)).toThrow(message);
    }
  });

  it("a bomb at its first block too many, with nothing written beside the target", () => {
    const bomb = compress(new Uint8Array(50_000_000));
    expect(() => decompress(bomb, 1000)).toThrow(/content has 50000000 bytes, expected 1000/);
    const ids = simple(...block(0x1f, 1, 1, 0, ...new Array<number>(250).fill(255), 0, 0));
    const body = ids.subarray(7);
    const unsized = concat([ids, ...new Array<Uint8Array>(1000).fill(body)]);
    const steps = decompressFrame(unsized, new Uint8Array(100_000));
    expect(steps.next().done).toBe(false);
    expect(() => steps.next()).toThrow(/exceeds the output's size/);
  });
});

describe("decompressFrame yields", () => {
  it("after every block", () => {
    const source = new Uint8Array(600_000);
    const steps = [...decompressFrame(compress(source), new Uint8Array(source.length))];
    expect(steps.length).toBe(3);
  });
});
