import { type DType, hostArray } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { base64 } from "../../src/index.js";
import { xxhash32 } from "../../src/lz4/xxhash32.js";
import {
  expectSameArrays,
  failureOf,
  memoryTaken,
  received,
  receivedArray,
  tesseractError,
  textOf,
} from "../support.js";
import { compress, concat, randomBytes } from "./support.js";

const decode = (frame: Uint8Array, shape: readonly number[], dtype: DType = "uint8") =>
  base64().decode(
    [receivedArray({ shape, dtype, buffer: Buffer.from(frame).toString("base64"), compression: "lz4" })],
    {},
  );

const refusal = (frame: Uint8Array, shape: readonly number[], dtype?: DType) =>
  failureOf(() => decode(frame, shape, dtype));

/** The frame with another content size in its header, or with none. */
function announcing(frame: Uint8Array, contentSize: number | undefined): Uint8Array {
  const header = frame.slice(4, contentSize === undefined ? 6 : 14);
  if (contentSize === undefined) header[0] = 0x60;
  else new DataView(header.buffer).setUint32(2, contentSize, true);
  return concat([frame.subarray(0, 4), header, Uint8Array.of(xxhash32(header) >>> 8), frame.subarray(15)]);
}

const content = randomBytes(5000, 1).map((byte) => byte & 3);
const frame = compress(content);

describe("a compressed array", () => {
  test("has one frame as base64, and says so", async () => {
    const numbers = hostArray(new Float64Array(10_000).fill(1.5));
    const { arrays } = await base64().encode([numbers], { compression: "lz4" });
    const text = await textOf(arrays);
    expect(text.length).toBeLessThan(2000);
    expect(JSON.parse(text)).toMatchObject([{ dtype: "float64", data: { encoding: "base64", compression: "lz4" } }]);
    expectSameArrays(await received(base64(), [new TextEncoder().encode(text)]), [numbers]);
  });

  test("that random bytes make larger is read all the same", async () => {
    const random = hostArray(randomBytes(300_000, 2));
    const { arrays } = await base64().encode([random], { compression: "lz4" });
    const text = new TextEncoder().encode(await textOf(arrays));
    expectSameArrays(await received(base64(), [text.slice()], text.length), [random]);
    expectSameArrays(await received(base64(), [text]), [random]);
  });

  test("may be compressed in frames without their content's size", async () => {
    const [array] = await decode(announcing(frame, undefined), [5000]);
    expect(array?.data).toEqual(content);
  });

  test("is refused where it is cut short, wherever that is", async () => {
    for (let length = 0; length < frame.length; length += length < 40 ? 1 : 37) {
      expect(await refusal(frame.subarray(0, length), [5000])).toEqual(tesseractError("DECODE_FAILED", "y: "));
    }
  });

  test("is refused where it goes on behind its end", async () => {
    for (const more of [Uint8Array.of(0), Uint8Array.of(1, 2, 3, 4, 5), frame]) {
      expect(await refusal(concat([frame, more]), [5000])).toEqual(tesseractError("DECODE_FAILED", "y: "));
    }
  });

  test("is refused where its content is smaller or larger than the array", async () => {
    for (const size of [0, 1, 4999, 5001, 10_000]) {
      for (const sent of [frame, announcing(frame, undefined), announcing(frame, size)]) {
        expect(await refusal(sent, [size])).toEqual(tesseractError("DECODE_FAILED", "y: "));
      }
    }
  });

  test("is refused where its header lies about its content's size", async () => {
    for (const size of [0, 1, 4999, 5001, 2 ** 32 - 1]) {
      expect(await refusal(announcing(frame, size), [5000])).toEqual(tesseractError("DECODE_FAILED", "y: "));
    }
  });

  test("that isn't compressed at all is refused", async () => {
    expect(await refusal(content, [5000])).toEqual(tesseractError("DECODE_FAILED", "y: ", "magic number"));
    const buffer = Buffer.from(frame).toString("base64");
    const work = () => base64().decode([receivedArray({ shape: [5000], dtype: "uint8", buffer })], {});
    expect(await failureOf(work)).toEqual(tesseractError("DECODE_FAILED", "y: ", "needs 5000 bytes"));
  });
});

describe("a bomb", () => {
  const bomb = compress(new Uint8Array(8 << 20));

  test("makes no more bytes than the array has", async () => {
    expect(bomb.length).toBeLessThan(40_000);
    const taken = await memoryTaken(async () => {
      for (const sent of [bomb, announcing(bomb, undefined)]) {
        expect(await refusal(sent, [1000])).toEqual(tesseractError("DECODE_FAILED", "y: "));
      }
    });
    expect(taken).toBeLessThan(1 << 20);
  });

  test("can't announce more than LZ4 could make of its bytes", async () => {
    const taken = await memoryTaken(async () => {
      for (const shape of [[10 ** 12], [2 ** 49], [5000 * 300]]) {
        expect(await refusal(frame, shape, "float64")).toEqual(tesseractError("DECODE_FAILED", "y: ", "can't be"));
      }
    });
    expect(taken).toBeLessThan(8 << 20);
  });
});

test("compressing lets others run, and ends when it is aborted", async () => {
  const controller = new AbortController();
  const large = hostArray(randomBytes(1 << 20, 3).map((byte) => byte & 7));
  const many = Array.from({ length: 200 }, () => large);
  let turns = 0;
  const timer = setInterval(() => {
    if (++turns === 3) controller.abort(new Error("enough"));
  }, 1);
  try {
    await expect(base64().encode(many, { compression: "lz4", signal: controller.signal })).rejects.toThrow("enough");
  } finally {
    clearInterval(timer);
  }
  expect(turns).toBeGreaterThanOrEqual(3);
});
