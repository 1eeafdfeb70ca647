/** The transport `base64`: an array's bytes as base64 text within the message. */

import {
  bytesOf,
  type EncodedArray,
  type HostArray,
  type HostTransport,
  type ReceivedArray,
  TesseractError,
  type TextSource,
} from "@tesseract-ts/core";
import { encodeInto, encodeText, uninitialized } from "#base64";
import { arrayFromBytes, compress } from "../buffers.js";
import { endianness, refuseBigEndian } from "../endianness.js";
import { Base64Sink, expectedBytes } from "./base64-sink.js";

/** Bytes that make one chunk of text: a multiple of 3, and large enough that a chunk's overhead doesn't count. */
const CHUNK = 72 * 1024;

/**
 * The transport `base64`, output format `json+base64`. Compressed with LZ4 where a call asks for it.
 */
export function base64(): HostTransport {
  return {
    name: "base64",
    carries: "host",
    reach: "network",
    probe: async () => endianness(),
    async encode(arrays, context) {
      refuseBigEndian();
      const { compression } = context;
      const encoded: EncodedArray[] = [];
      for (const array of arrays) {
        if (compression === "none") encoded.push(encodedAs(array, bytesOf(array)));
        else encoded.push(encodedAs(array, await compress(bytesOf(array), context.signal), compression));
      }
      return { arrays: encoded };
    },
    async decode(encoded, context) {
      refuseBigEndian();
      const arrays: HostArray[] = [];
      for (const array of encoded) arrays.push(await arrayFromBytes(array, received(array), context));
      return arrays;
    },
    openBuffer: ({ path, shape, dtype }, atMost) => new Base64Sink(path, expectedBytes(shape, dtype), atMost),
  };
}

/** An array with its bytes as base64 text, made while the message is sent. */
export const encodedAs = (array: HostArray, bytes: Uint8Array, compression?: "lz4"): EncodedArray => ({
  object_type: "array",
  shape: array.shape,
  dtype: array.dtype,
  data: { encoding: "base64", buffer: base64Text(bytes), ...(compression === undefined ? {} : { compression }) },
});

const base64Text = (bytes: Uint8Array): TextSource => ({
  as: "string",
  byteLength: Math.ceil(bytes.length / 3) * 4,
  text: () => encodeText(bytes),
  *chunks() {
    // Two buffers in turn, as long as a chunk has to stay: memory for all of them would be work for the collector.
    const buffers: Uint8Array[] = [];
    for (let start = 0; start < bytes.length; start += CHUNK) {
      const end = Math.min(bytes.length, start + CHUNK);
      const length = Math.ceil((end - start) / 3) * 4;
      const buffer = buffers.length < 2 ? uninitialized(length) : (buffers.shift() as Uint8Array);
      buffers.push(buffer);
      const chunk = buffer.subarray(0, length);
      const whole = end - ((end - start) % 3);
      encodeInto(bytes, start, whole, chunk, 0);
      if (whole < end) {
        const group = new Uint8Array(3);
        group.set(bytes.subarray(whole, end));
        encodeInto(group, 0, 3, chunk, chunk.length - 4);
        chunk.fill(0x3d, chunk.length - 3 + (end - whole));
      }
      yield chunk;
    }
  },
});

const encoder = new TextEncoder();

function received({ path, dtype, shape, data }: ReceivedArray): Uint8Array {
  if (data.buffer instanceof Uint8Array) return data.buffer;
  if (typeof data.buffer !== "string") {
    throw new TesseractError("DECODE_FAILED", `${path}: a base64 buffer is a string, not ${typeof data.buffer}`);
  }
  const text = encoder.encode(data.buffer);
  const sink = new Base64Sink(path, expectedBytes(shape, dtype), text.length);
  sink.write(text);
  return sink.end();
}
