import { type DType, dtypes, hostArray, itemSize, makeHostArray, viewAs } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import * as portable from "../../src/base64/codec.js";
import * as native from "../../src/base64/codec-node.js";
import { base64 } from "../../src/index.js";
import { firstDifference, randomBytes, randomNumbers } from "../lz4/support.js";
import { failureOf, memoryTaken, pieces, receivedArray, tesseractError, textOf } from "../support.js";

const codecs = [
  ["the portable codec", portable],
  ["Node's codec", native],
] as const;

const toText = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
const ascii = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "latin1"));

test.each(codecs)("%s gives the text of a few bytes as one string", (_, { encodeText }) => {
  for (let length = 0; length < 20; length++) {
    const bytes = randomBytes(length + 3, length).subarray(3);
    expect(encodeText(bytes)).toBe(toText(bytes));
  }
  const most = randomBytes(24 * 1024, 1);
  expect(encodeText(most)).toBe(toText(most));
});

/** What the transport makes of base64 text that comes in these pieces. */
async function decode(
  chunks: readonly Uint8Array[],
  { shape, dtype = "uint8", atMost }: { shape: readonly number[]; dtype?: DType; atMost?: number },
): Promise<Uint8Array> {
  const transport = base64();
  const sink = transport.openBuffer?.({ path: "y", shape, dtype }, atMost);
  if (sink === undefined) throw new Error("No sink");
  for (const chunk of chunks) {
    sink.write(chunk);
    chunk.fill(0x2a);
  }
  const [array] = await transport.decode([receivedArray({ shape, dtype, buffer: sink.end() })], {});
  if (array === undefined) throw new Error("No array");
  return new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.byteLength);
}

const decodeText = async (text: string, shape: readonly number[], dtype: DType = "uint8"): Promise<Uint8Array> => {
  const [array] = await base64().decode([receivedArray({ shape, dtype, buffer: text })], {});
  return new Uint8Array(array?.data.buffer ?? new ArrayBuffer(0));
};

describe.each(codecs)("%s", (_, { encodeInto, decodeInto }) => {
  const edges = [24 * 1024, 48 * 1024, 96 * 1024, 192 * 1024].flatMap((size) => [size - 3, size, size + 3]);

  test("writes what Node writes, wherever the bytes and the text lie", () => {
    for (const length of [...Array.from({ length: 34 }, (_, i) => i * 3), ...edges]) {
      const bytes = randomBytes(length + 10, length);
      const target = new Uint8Array((length / 3) * 4 + 9).fill(0x2e);
      encodeInto(bytes, 5, 5 + length, target, 4);
      const expected = ascii(`....${toText(bytes.subarray(5, 5 + length))}.....`);
      expect(firstDifference(target, expected)).toBe(-1);
    }
  });

  test("reads what Node writes, wherever the text and the bytes lie", () => {
    for (const length of [...Array.from({ length: 34 }, (_, i) => i * 3), ...edges]) {
      const bytes = randomBytes(length, length);
      const text = ascii(`..${toText(bytes)}...`);
      const target = new Uint8Array(length + 7).fill(0xaa);
      expect(decodeInto(text, 2, text.length - 3, target, 3)).toBe(true);
      expect(firstDifference(target.subarray(3, 3 + length), bytes)).toBe(-1);
      expect([...target.subarray(0, 3), ...target.subarray(3 + length)]).toEqual(new Array(7).fill(0xaa));
    }
  });

  test("takes no byte but those of the alphabet, at any place", () => {
    const alphabet = new Set(ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"));
    for (const length of [4, 60, 64, 68, 132]) {
      for (let byte = 0; byte < 256; byte++) {
        for (const at of [0, 1, length >> 1, length - 2, length - 1]) {
          const text = new Uint8Array(length).fill(0x41);
          text[at] = byte;
          const result = decodeInto(text, 0, length, new Uint8Array((length / 4) * 3), 0);
          if (result !== alphabet.has(byte)) throw new Error(`byte ${byte} at ${at} of ${length}: ${result}`);
        }
      }
    }
  });
});

test("both codecs agree about any text", () => {
  const next = randomNumbers(3);
  for (let i = 0; i < 3000; i++) {
    const text = ascii(toText(randomBytes(3 * Math.floor(next() * 80), i)));
    for (let changes = Math.floor(next() * 3); changes > 0; changes--) {
      text[Math.floor(next() * text.length)] = next() < 0.5 ? next() * 256 : (ascii("=-_ \n\0")[next() * 6] ?? 0x3d);
    }
    const targets = codecs.map(() => new Uint8Array((text.length / 4) * 3));
    const results = codecs.map(([, { decodeInto }], index) =>
      decodeInto(text, 0, text.length, targets[index] ?? new Uint8Array(0), 0),
    );
    const [first, second] = targets;
    const same =
      results[0] === results[1] && (results[0] === false || (first && second && firstDifference(first, second) < 0));
    if (!same) throw new Error(`they differ about ${JSON.stringify(Buffer.from(text).toString("latin1"))}`);
  }
});

describe("base64 text", () => {
  const lengths = [...Array.from({ length: 101 }, (_, length) => length), 300, 1000, 65_535, 65_536, 65_537];

  test("of any length is read in whatever pieces it comes", async () => {
    for (const length of lengths) {
      const bytes = randomBytes(length, length);
      const text = ascii(toText(bytes));
      for (const atMost of [undefined, text.length, text.length + 500]) {
        const announced = atMost === undefined ? {} : { atMost };
        for (const most of [1, 2, 3, 4, 5, 63, 1 << 20]) {
          if (length > 1000 && most < 5) continue;
          const chunks = [new Uint8Array(0), ...pieces(text, most)];
          expect(firstDifference(await decode(chunks, { shape: [length], ...announced }), bytes)).toBe(-1);
        }
        const random = pieces(text, 90, randomNumbers(length));
        expect(firstDifference(await decode(random, { shape: [length], ...announced }), bytes)).toBe(-1);
      }
      expect(firstDifference(await decodeText(toText(bytes), [length]), bytes)).toBe(-1);
    }
  });

  test("of a few megabytes is read", async () => {
    const bytes = randomBytes(3_300_000, 1);
    expect(firstDifference(await decode(pieces(ascii(toText(bytes)), 65_536), { shape: [bytes.length] }), bytes)).toBe(
      -1,
    );
  });

  test.each<[string, string]>([
    ["a character outside the alphabet", "AAA*"],
    ["a character beyond ASCII", "AAA\xe9"],
    ["a NUL", "AA\0A"],
    ["the URL-safe minus", "AA-A"],
    ["the URL-safe underscore", "AA_A"],
    ["a space", "AA A"],
    ["a line break", "AAAA\r\nAA"],
    ["a space at its end", "AAA "],
    ["no padding", "AAAAAA"],
    ["half of its padding", "AAAAAA="],
    ["one character left", "AAAAA"],
    ["padding in its middle", "AA==AAAA"],
    ["padding between characters", "A=AA"],
    ["padding after one character", "A==="],
    ["padding alone", "===="],
    ["more padding than there can be", "AAAA===="],
    ["padding and more", "AAA=A"],
  ])("isn't text with %s", async (_, fault) => {
    for (const before of ["", "AAAA", "A".repeat(64), "A".repeat(400)]) {
      const shape = [Math.floor(((before.length + fault.replaceAll("=", "").length) * 3) / 4)];
      for (const most of [1, 3, 1000]) {
        const error = await failureOf(() => decode(pieces(ascii(before + fault), most), { shape }));
        expect(error).toEqual(tesseractError("DECODE_FAILED", "base64"));
      }
      expect(await failureOf(() => decodeText(before + fault, shape))).toEqual(tesseractError("DECODE_FAILED"));
    }
  });

  test.each<[string, number]>([
    ["one byte too few", 9],
    ["one byte too many", 11],
    ["no bytes at all", 0],
    ["far too many", 500_000],
  ])("has exactly the bytes that shape and dtype ask for: not with %s", async (_, length) => {
    const text = ascii(toText(randomBytes(length, 1)));
    for (const most of [1, 100, 1 << 20]) {
      if (length > 1000 && most === 1) continue;
      expect(await failureOf(() => decode(pieces(text, most), { shape: [10] }))).toEqual(
        tesseractError("DECODE_FAILED"),
      );
    }
  });

  test("says at which array its bytes are too few", async () => {
    expect(await failureOf(() => decodeText("AAAA", [2, 2], "float64"))).toEqual(
      tesseractError("DECODE_FAILED", "y: ", "[2, 2] of float64 needs 32 bytes", "has 3"),
    );
  });

  test.each([[3], [null], [{}], [["AAAA"]], [true]])("is no %j", async (buffer) => {
    const work = () => base64().decode([receivedArray({ shape: [1], dtype: "uint8", buffer })], {});
    expect(await failureOf(work)).toEqual(tesseractError("DECODE_FAILED", "y: "));
  });

  test("has no byte of a bool but 0 and 1", async () => {
    expect(await decodeText(toText(Uint8Array.of(0, 1, 1)), [3], "bool")).toEqual(Uint8Array.of(0, 1, 1));
    expect(await failureOf(() => decodeText(toText(Uint8Array.of(0, 2)), [2], "bool"))).toEqual(
      tesseractError("DECODE_FAILED", "y: ", "bool"),
    );
  });
});

describe("what a message announces", () => {
  test.each<[string, readonly number[], DType]>([
    ["a million million elements", [10 ** 12], "float64"],
    ["as much as can be counted", [2 ** 49], "complex128"],
    ["a few gigabytes", [1 << 15, 1 << 15, 4], "uint8"],
  ])("takes no memory before it came: %s", async (_, shape, dtype) => {
    const taken = await memoryTaken(async () => {
      for (const atMost of [undefined, 1000]) {
        const chunks = [ascii("A".repeat(400))];
        const work = () => decode(chunks, { shape, dtype, ...(atMost === undefined ? {} : { atMost }) });
        expect(await failureOf(work)).toEqual(tesseractError("DECODE_FAILED", "y: "));
      }
      expect(await failureOf(() => decodeText("AAAA", shape, dtype))).toEqual(tesseractError("DECODE_FAILED"));
    });
    expect(taken).toBeLessThan(8 << 20);
  });

  test("that makes no sense is found out in the end", () => {
    const transport = base64();
    for (const shape of [undefined, null, "x", [-1], [1.5], [null], [2 ** 40, 2 ** 40], {}]) {
      for (const dtype of [undefined, "bfloat16", "float64", 3]) {
        const sink = transport.openBuffer?.({ path: "y", shape, dtype }, undefined);
        sink?.write(ascii("AAAAAAAA"));
        expect(sink?.end()).toEqual(new Uint8Array(6));
      }
    }
  });
});

describe("sending", () => {
  test.each([...dtypes])("%s as the reference does", async (dtype) => {
    const bytes = new Uint8Array(6 * itemSize(dtype)).map((_, i) => (dtype === "bool" ? i & 1 : i * 7));
    const array = makeHostArray(dtype, [2, 3], viewAs(dtype, bytes.buffer));
    const { arrays } = await base64().encode([array], { compression: "none" });
    expect(JSON.parse(await textOf(arrays))).toEqual([
      { object_type: "array", shape: [2, 3], dtype, data: { encoding: "base64", buffer: toText(bytes) } },
    ]);
  });

  test("arrays around the size of a chunk", async () => {
    for (const length of [
      0,
      1,
      2,
      3,
      4,
      5,
      ...[192 * 1024, 384 * 1024].flatMap((size) => [-2, -1, 0, 1, 2].map((i) => size + i)),
    ]) {
      const bytes = randomBytes(length, length);
      const { arrays } = await base64().encode([hostArray(bytes)], { compression: "none" });
      const text = await textOf(arrays);
      expect(text.slice(text.indexOf('"buffer":"') + 10, text.lastIndexOf('"')) === toText(bytes)).toBe(true);
    }
  });

  test("gives the same text each time it is asked for", async () => {
    const { arrays } = await base64().encode([hostArray(randomBytes(1000, 1))], { compression: "lz4" });
    expect(await textOf(arrays)).toBe(await textOf(arrays));
  });
});
