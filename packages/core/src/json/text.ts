/** A string of a JSON text, put together from pieces as they arrive. */
import type { BufferSink } from "../transport.js";
import { JsonSyntaxError } from "./syntax-error.js";

/** V8's longest string has 2^29 - 24 characters (other engines allow no less). */
const LONGEST_STRING = 2 ** 29 - 24;

/** Takes the unescaped pieces of a string: bytes of UTF-8 as they stand, and characters that were escaped. */
export interface StringSink {
  write(bytes: Uint8Array): void;
  /** UTF-16 code units, where a `\u` escape may be half of a pair. */
  escape(text: string): void;
  end(): unknown;
}

export class StringCollector implements StringSink {
  private readonly decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  private text = "";
  /** Whether the last bytes may have ended within a character. */
  private open = false;

  constructor(private readonly offset: number) {}

  write(bytes: Uint8Array): void {
    if (bytes.some((byte) => byte < 0x20)) throw new JsonSyntaxError("A string has a control character", this.offset);
    this.append(() => this.decoder.decode(bytes, { stream: true }));
    this.open = true;
  }

  escape(text: string): void {
    this.flush();
    this.append(() => text);
  }

  end(): string {
    this.flush();
    return this.text;
  }

  private flush(): void {
    if (this.open) this.append(() => this.decoder.decode());
    this.open = false;
  }

  private append(piece: () => string): void {
    let text: string;
    try {
      text = piece();
    } catch {
      throw new JsonSyntaxError("A string isn't UTF-8", this.offset);
    }
    if (this.text.length + text.length > LONGEST_STRING) {
      throw new JsonSyntaxError("A string is longer than JavaScript can hold", this.offset);
    }
    this.text += text;
  }
}

/** The `buffer` string of an array: for a sink if it is long, else a string like any other, however it is cut. */
export class BufferString implements StringSink {
  /** Shorter ones aren't worth a sink. They may also belong to another transport than the others of the message. */
  static readonly SHORT = 256;

  /** The beginning, until it is long enough. */
  private readonly pieces: (Uint8Array | string)[] = [];
  private length = 0;
  private target: StringSink | undefined;

  constructor(
    private readonly offset: number,
    private readonly open: () => BufferSink | undefined,
  ) {}

  write(bytes: Uint8Array): void {
    if (this.target !== undefined) this.target.write(bytes);
    else if (this.length + bytes.length >= BufferString.SHORT) this.decide(this.open()).write(bytes);
    else this.keep(bytes.slice());
  }

  escape(text: string): void {
    if (this.target !== undefined) this.target.escape(text);
    else this.keep(text);
  }

  end(): unknown {
    return (this.target ?? this.decide(undefined)).end();
  }

  private keep(piece: Uint8Array | string): void {
    this.pieces.push(piece);
    this.length += piece.length;
  }

  private decide(sink: BufferSink | undefined): StringSink {
    const target = sink === undefined ? new StringCollector(this.offset) : new SinkString(sink);
    for (const piece of this.pieces.splice(0)) {
      if (typeof piece === "string") target.escape(piece);
      else target.write(piece);
    }
    this.target = target;
    return target;
  }
}

const encoder = new TextEncoder();

/** Gives a sink the string in UTF-8. */
class SinkString implements StringSink {
  /** The first half of a character that two escapes make. */
  private half = "";

  constructor(private readonly sink: BufferSink) {}

  write(bytes: Uint8Array): void {
    this.flush();
    this.sink.write(bytes);
  }

  escape(text: string): void {
    const escaped = this.half + text;
    this.half = "";
    if (/[\ud800-\udbff]$/.test(escaped)) {
      this.half = escaped.slice(-1);
      if (escaped.length > 1) this.sink.write(encoder.encode(escaped.slice(0, -1)));
    } else {
      this.sink.write(encoder.encode(escaped));
    }
  }

  end(): unknown {
    this.flush();
    return this.sink.end();
  }

  private flush(): void {
    if (this.half !== "") this.sink.write(encoder.encode(this.half));
    this.half = "";
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A short string that stands whole in `bytes`, without escapes. */
export function shortString(bytes: Uint8Array, start: number, end: number, offset: number): string {
  if (end - start <= 48) {
    let text = "";
    for (let i = start; i < end; i++) {
      const byte = bytes[i] as number;
      if (byte >= 0x80) return utf8(bytes.subarray(start, end), offset);
      text += String.fromCharCode(byte);
    }
    return text;
  }
  return utf8(bytes.subarray(start, end), offset);
}

function utf8(bytes: Uint8Array, offset: number): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new JsonSyntaxError("A string isn't UTF-8", offset);
  }
}
