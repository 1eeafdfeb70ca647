/** A small, right transport whose bytes are text in the message, and what it does wrong when it is told to. */
import {
  type BufferSink,
  bytesOf,
  elementCount,
  type HostArray,
  type HostTransport,
  isDType,
  itemSize,
  makeHostArray,
  type ReceivedArray,
  TesseractError,
  type TextSource,
  viewAs,
} from "@tesseract-ts/core";

export type TextFault =
  | "gives its text once"
  | "says a wrong length"
  | "changes a chunk too early"
  | "forgets to quote"
  | "takes memory for what is announced"
  | "throws what it likes"
  | "writes behind its memory";

/** Bytes of the chunks of a text, and of what a sink takes at a time. */
const STEP = 1 << 15;

export function hex(fault?: TextFault): HostTransport {
  const is = (one: TextFault): boolean => fault === one;
  return {
    name: "hex",
    carries: "host",
    reach: "network",
    probe: async () => ({ ok: true }),
    encode: async (arrays) => ({
      arrays: arrays.map((array) => ({
        shape: array.shape,
        dtype: array.dtype,
        data: { encoding: "hex", buffer: textOf(bytesOf(array)) },
      })),
    }),
    decode: async (encoded) => encoded.map((array) => decoded(array, is)),
    openBuffer: ({ shape, dtype, path }) => new HexSink(expectedBytes(shape, dtype), path, is),
  };

  function textOf(bytes: Uint8Array): TextSource {
    // Short texts are right in any case, so that the faults show where texts are long.
    const long = bytes.length > STEP;
    let asked = 0;
    return {
      as: long && is("forgets to quote") ? "json" : "string",
      byteLength: 2 * bytes.length + (long && is("says a wrong length") ? 2 : 0),
      *chunks() {
        if (long && is("gives its text once") && asked++ > 0) return;
        const shared = new Uint8Array(2 * STEP);
        for (let at = 0; at < bytes.length; at += STEP) {
          const chunk = Buffer.from(Buffer.from(bytes.subarray(at, at + STEP)).toString("hex"));
          if (!is("changes a chunk too early")) yield chunk;
          else {
            shared.set(chunk);
            yield shared.subarray(0, chunk.length);
          }
        }
      },
    };
  }
}

function expectedBytes(shape: unknown, dtype: unknown): number {
  if (!isDType(dtype) || !Array.isArray(shape)) return 0;
  const bytes = elementCount(shape.map(Number)) * itemSize(dtype);
  return Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : 0;
}

class HexSink implements BufferSink {
  private readonly parts: Buffer[] = [];
  private length = 0;
  private rest = "";
  /** What a broken one has taken in advance. */
  readonly whole: Uint8Array | undefined;

  constructor(
    private readonly expected: number,
    private readonly path: string,
    private readonly is: (fault: TextFault) => boolean,
  ) {
    if (is("takes memory for what is announced")) this.whole = new Uint8Array(expected);
  }

  write(text: Uint8Array): void {
    const all = this.rest + Buffer.from(text).toString("latin1");
    const even = all.length - (all.length % 2);
    this.rest = all.slice(even);
    const digits = all.slice(0, even);
    if (!/^[0-9a-f]*$/.test(digits)) {
      if (this.is("throws what it likes")) throw new RangeError("No hexadecimal digit");
      throw new TesseractError("DECODE_FAILED", `${this.path}: this is no hexadecimal text`);
    }
    this.length += even / 2;
    if (this.length > this.expected && !this.is("writes behind its memory")) {
      throw new TesseractError("DECODE_FAILED", `${this.path}: there are more bytes than the shape needs`);
    }
    this.parts.push(Buffer.from(digits, "hex"));
  }

  end(): Uint8Array {
    if (this.rest !== "") throw new TesseractError("DECODE_FAILED", `${this.path}: half a byte`);
    return Uint8Array.from(Buffer.concat(this.parts));
  }
}

function decoded({ path, dtype, shape, data }: ReceivedArray, is: (fault: TextFault) => boolean): HostArray {
  const refuse = (what: string): TesseractError => new TesseractError("DECODE_FAILED", `${path}: ${what}`);
  let bytes: Uint8Array;
  if (data.buffer instanceof Uint8Array) bytes = data.buffer;
  else if (typeof data.buffer === "string") {
    const sink = new HexSink(elementCount(shape) * itemSize(dtype), path, is);
    sink.write(Buffer.from(data.buffer, "utf8"));
    bytes = sink.end();
  } else throw refuse("a buffer is text");
  if (bytes.length !== elementCount(shape) * itemSize(dtype)) {
    if (is("writes behind its memory")) throw new RangeError("offset is out of bounds");
    throw refuse(`there are ${bytes.length} bytes`);
  }
  if (dtype === "bool" && bytes.some((byte) => byte > 1)) throw refuse("a bool that is neither 0 nor 1");
  return makeHostArray(dtype, shape, viewAs(dtype, bytes.slice().buffer));
}
