import {
  type DType,
  dtypes,
  type EncodeContext,
  type EncodedArray,
  type ErrorCode,
  elementCount,
  entriesPerElement,
  type HostArray,
  type HostTransport,
  itemSize,
  makeHostArray,
  type ReceivedArray,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";
import fc from "fast-check";
import { expect } from "vitest";
import { JsonReader } from "../../core/src/json/reader.js";
import { JsonBody } from "../../core/src/json/writer.js";
import { decodeMessage } from "../../core/src/message/decode-message.js";

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

/** Pieces of at most `most` bytes each, of random sizes if `next` is given. */
export function pieces(bytes: Uint8Array, most: number, next?: () => number): Uint8Array[] {
  const cut: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = next === undefined ? most : 1 + Math.floor(next() * most);
    cut.push(bytes.slice(at, at + size));
    at += size;
  }
  return cut;
}

/** The text that a request would have of these arrays. */
export async function textOf(arrays: readonly EncodedArray[]): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const body = JsonBody.of(arrays);
  let text = "";
  let length = 0;
  for await (const chunk of body.chunks()) {
    length += chunk.length;
    text += decoder.decode(chunk, { stream: true });
  }
  if (body.byteLength !== undefined) expect(length).toBe(body.byteLength);
  return text + decoder.decode();
}

/** What a transport makes of arrays in a text, which comes in pieces. */
export async function received(
  transport: HostTransport,
  chunks: Iterable<Uint8Array>,
  byteLength?: number,
): Promise<readonly HostArray[]> {
  const openBuffer = transport.openBuffer?.bind(transport);
  const reader = new JsonReader({ byteLength, ...(openBuffer === undefined ? {} : { openBuffer }) });
  for (const chunk of chunks) {
    reader.write(chunk);
    chunk.fill(0x78);
  }
  const tree = reader.end();
  const arrays = await decodeMessage(tree, [transport], {});
  return arrays as readonly HostArray[];
}

/** Sends arrays through a text that is cut into pieces of up to `most` bytes. */
export async function roundTrip(
  transport: HostTransport,
  arrays: readonly HostArray[],
  context: EncodeContext = { compression: "none" },
  { most = 1 << 16, receiver = transport }: { readonly most?: number; readonly receiver?: HostTransport } = {},
): Promise<readonly HostArray[]> {
  const { arrays: encoded, lease } = await transport.encode(arrays, context);
  try {
    const text = new TextEncoder().encode(await textOf(encoded));
    return await received(receiver, pieces(text, most), most % 2 === 0 ? text.length : undefined);
  } finally {
    await lease?.release();
  }
}

/** Equal to the bit: the sign of zero and a NaN's payload too. */
export function expectSameArrays(found: readonly HostArray[], expected: readonly HostArray[]): void {
  const plain = ({ dtype, shape, data }: HostArray) => ({
    dtype,
    shape: [...shape],
    kept: data.constructor.name,
    bytes: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("hex"),
  });
  expect(found.map(plain)).toEqual(expected.map(plain));
}

/** An array that wasn't checked, as it came in a message. */
export const receivedArray = (parts: {
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly encoding?: string;
  readonly buffer: unknown;
  readonly compression?: "lz4";
}): ReceivedArray => ({
  object_type: "array",
  shape: parts.shape,
  dtype: parts.dtype,
  data: {
    encoding: parts.encoding ?? "base64",
    buffer: parts.buffer,
    ...(parts.compression === undefined ? {} : { compression: parts.compression }),
  },
  path: "y",
});

/** The bytes that typed arrays took from the system while `work` ran. */
export async function memoryTaken(work: () => Promise<unknown>): Promise<number> {
  const before = process.memoryUsage().arrayBuffers;
  await work();
  return process.memoryUsage().arrayBuffers - before;
}

const arrayOfBytes = (dtype: DType, shape: readonly number[], random: Uint8Array): HostArray => {
  const elements = elementCount(shape);
  const bytes = new Uint8Array(elements * itemSize(dtype));
  for (let i = 0; i < bytes.length; i++) bytes[i] = (random[i % random.length] ?? 0) ^ (i / random.length);
  if (dtype === "bool") for (let i = 0; i < bytes.length; i++) bytes[i] = (bytes[i] ?? 0) & 1;
  return makeHostArray(dtype, shape, viewAs(dtype, bytes.buffer));
};

/** Any dtype, rank and bytes, NaNs and infinities among them. */
export const anyArray: fc.Arbitrary<HostArray> = fc
  .record({
    dtype: fc.constantFrom(...dtypes),
    shape: fc.array(fc.nat({ max: 7 }), { maxLength: 4 }),
    random: fc.uint8Array({ minLength: 1, maxLength: 64 }),
  })
  .map(({ dtype, shape, random }) => arrayOfBytes(dtype, shape, random));

/** Ordinary numbers in any dtype. */
export const tameArray: fc.Arbitrary<HostArray> = fc
  .record({
    dtype: fc.constantFrom(...dtypes),
    shape: fc.array(fc.nat({ max: 5 }), { maxLength: 3 }),
    values: fc.array(fc.double({ noNaN: true, min: -100, max: 100 }), { minLength: 1, maxLength: 20 }),
  })
  .map(({ dtype, shape, values }) => {
    const array = arrayOfBytes(dtype, shape, Uint8Array.of(0));
    const entries = elementCount(shape) * entriesPerElement(dtype);
    for (let i = 0; i < entries; i++) {
      const value = values[i % values.length] ?? 0;
      if (array.dtype === "int64" || array.dtype === "uint64") array.data[i] = BigInt(Math.abs(Math.trunc(value)));
      else if (array.dtype === "bool") array.data[i] = value > 0 ? 1 : 0;
      else if (array.dtype === "float16") array.data[i] = Math.abs(Math.trunc(value));
      else array.data[i] = value;
    }
    return array;
  });
