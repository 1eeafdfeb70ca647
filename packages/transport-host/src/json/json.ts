/** The transport `json`: an array as nested lists of numbers within the message. */
import {
  bytesOf,
  type DType,
  dtypeKind,
  type EncodedArray,
  elementCount,
  float16ToNumber,
  type HostArray,
  type HostTransport,
  type TextSource,
} from "@tesseract-ts/core";
import { encodedAs } from "../base64/base64.js";
import { refuseBigEndian } from "../endianness.js";
import { inTurns } from "../turns.js";
import { NestedReader } from "./nested-reader.js";

/** Characters that make one chunk of text. */
const CHUNK = 1 << 16;
/** Up to this many elements, the text is made at once, so that its length is known. */
const SMALL = 4096;

/**
 * The transport `json`, output format `json`. An array that would lose values is sent as base64 instead, which every
 * reader of `json` takes as well: JSON has neither NaN nor infinities, and the reference (seen on 1.12 to 1.15) reads
 * a list that mixes whole numbers below and from 2^63 on as floating-point numbers. In an answer, where the reference
 * writes `null` for NaN and both infinities, they come out as NaN.
 */
export function json(): HostTransport {
  return {
    name: "json",
    aliases: ["raw"],
    carries: "host",
    reach: "network",
    probe: async () => ({ ok: true }),
    async encode(arrays, { signal }) {
      const encoded: EncodedArray[] = [];
      for (const array of arrays) {
        if (await isLossless(array, signal)) encoded.push(asLists(array));
        else {
          refuseBigEndian();
          encoded.push(encodedAs(array, bytesOf(array)));
        }
      }
      return { arrays: encoded };
    },
    async decode(encoded, { signal }) {
      const arrays: HostArray[] = [];
      for (const array of encoded) {
        const reader = new NestedReader(array);
        await inTurns(reader.steps(), signal);
        arrays.push(reader.array);
      }
      return arrays;
    },
  };
}

const asLists = (array: HostArray): EncodedArray => ({
  object_type: "array",
  shape: array.shape,
  dtype: array.dtype,
  data: { encoding: "json", buffer: listsText(array) },
});

function listsText(array: HostArray): TextSource {
  const encoder = new TextEncoder();
  const source: TextSource = {
    as: "json",
    *chunks() {
      for (const text of lists(array)) yield encoder.encode(text);
    },
  };
  if (elementCount(array.shape) > SMALL) return source;
  const chunks = [...(source.chunks() as Iterable<Uint8Array>)];
  return { as: "json", byteLength: chunks.reduce((sum, { length }) => sum + length, 0), chunks: () => chunks };
}

/** The text in pieces of about {@link CHUNK} characters. */
function* lists(array: HostArray): Generator<string> {
  const write = elementWriter(array);
  const { shape } = array;
  let text = "";
  let index = 0;
  function* level(depth: number): Generator<string> {
    if (depth === shape.length) {
      text += write(index++);
      return;
    }
    text += "[";
    const size = shape[depth] as number;
    const innermost = depth === shape.length - 1;
    for (let i = 0; i < size; i++) {
      if (i > 0) text += ",";
      if (innermost) text += write(index++);
      else yield* level(depth + 1);
      if (text.length >= CHUNK) {
        yield text;
        text = "";
      }
    }
    text += "]";
  }
  yield* level(0);
  yield text;
}

function elementWriter({ dtype, data }: HostArray): (index: number) => string {
  const entry = (index: number): number | bigint => data[index] as number | bigint;
  if (dtypeKind(dtype) === "bool") return (index) => (entry(index) === 0 ? "false" : "true");
  if (dtypeKind(dtype) === "complex") {
    return (index) => {
      const imaginary = float(entry(2 * index + 1) as number);
      const sign = imaginary.startsWith("-") ? "" : "+";
      return `"${float(entry(2 * index) as number)}${sign}${imaginary}j"`;
    };
  }
  if (dtype === "float16") return (index) => float(float16ToNumber(entry(index) as number));
  if (dtypeKind(dtype) === "float") return (index) => float(entry(index) as number);
  return (index) => String(entry(index));
}

/** With a point or an exponent always: the reader would take a whole number for an integer, of limited range. */
function float(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  const text = String(value);
  return Number.isInteger(value) && !text.includes("e") ? `${text}.0` : text;
}

/** Whether an entry of the dtype would be lost; undefined for a dtype of which none would. */
function lossOf(dtype: DType): ((entry: number | bigint) => boolean) | undefined {
  // An exponent of all ones is an infinity or a NaN in binary16.
  if (dtype === "float16") return (entry) => (Number(entry) & 0x7c00) === 0x7c00;
  if (dtype === "uint64") return (entry) => entry >= 2n ** 63n;
  return dtypeKind(dtype) === "float" || dtypeKind(dtype) === "complex"
    ? (entry) => !Number.isFinite(entry)
    : undefined;
}

async function isLossless({ dtype, data }: HostArray, signal: AbortSignal | undefined): Promise<boolean> {
  const isLost = lossOf(dtype);
  if (isLost === undefined) return true;
  let lossless = true;
  function* scan(isLost: (entry: number | bigint) => boolean): Generator<void> {
    for (let i = 0; i < data.length && lossless; i++) {
      if (isLost(data[i] as number | bigint)) lossless = false;
      if ((i & 0xffff) === 0xffff) yield;
    }
  }
  await inTurns(scan(isLost), signal);
  return lossless;
}
