/**
 * The long `buffer` strings of a request, taken while they arrive. A request names the encoding of each array behind its
 * buffer, so what comes is kept as it is until the name is known, or for so long that only base64 can be meant.
 */
import { randomBytes } from "node:crypto";
import type { AnnouncedArray, BufferSink, HostTransport } from "@tesseract-ts/core";
import { TesseractError } from "@tesseract-ts/core";

/** Longer strings are decoded while they arrive, if they look like base64. */
const DECIDE_AT = 1 << 16;
/** V8's longest string. */
const LONGEST_STRING = 2 ** 29 - 24;

/** No request can guess it, so what has it is a mark that was put here. */
const PREFIX = `buffer ${randomBytes(16).toString("hex")}:`;

type OpenBuffer = NonNullable<HostTransport["openBuffer"]>;

/** What came of a buffer that was to be base64. */
export type Base64Buffer =
  | { readonly ok: true; readonly buffer: unknown }
  | { readonly ok: false; readonly error: TesseractError };

export class ReceivedBuffers {
  private readonly buffers: ReceivedBuffer[] = [];

  /** @param openBase64 how base64 text is decoded */
  constructor(private readonly openBase64: OpenBuffer | undefined) {}

  /** For a `JsonReader`: the string's place in the tree gets a mark, which is a string as well. */
  readonly open = (array: AnnouncedArray, atMost: number | undefined): BufferSink | undefined => {
    if (this.openBase64 === undefined) return undefined;
    const buffer = new ReceivedBuffer(this.openBase64, array, atMost, `${PREFIX}${this.buffers.length}`);
    this.buffers.push(buffer);
    return buffer;
  };

  get isEmpty(): boolean {
    return this.buffers.length === 0;
  }

  /** The buffer that a mark stands for; undefined for any other value. */
  at(mark: unknown): ReceivedBuffer | undefined {
    if (this.buffers.length === 0 || typeof mark !== "string" || !mark.startsWith(PREFIX)) return undefined;
    return this.buffers[Number(mark.slice(PREFIX.length))];
  }

  /**
   * Puts the strings back that belong to no array of the schema.
   *
   * @returns the paths at which that can't be done: the string is too long, or was taken for base64 and isn't
   */
  restore(tree: unknown): readonly (readonly (string | number)[])[] {
    const lost: (readonly (string | number)[])[] = [];
    const visit = (parent: object, path: readonly (string | number)[]): void => {
      for (const [key, value] of Object.entries(parent)) {
        const here = [...path, Array.isArray(parent) ? Number(key) : key];
        if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value)) visit(value, here);
        const buffer = this.at(value);
        if (buffer === undefined || buffer.taken) continue;
        const text = buffer.text();
        if (text === undefined) lost.push(here);
        else Object.assign(parent, { [key]: text });
      }
    };
    if (this.buffers.some(({ taken }) => !taken) && typeof tree === "object" && tree !== null) visit(tree, []);
    return lost;
  }
}

export class ReceivedBuffer implements BufferSink {
  /** Whether it has become an array. */
  taken = false;
  private pieces: Uint8Array[] = [];
  private length = 0;
  private sink: BufferSink | undefined;
  private decoded: Base64Buffer | undefined;
  private isText = false;

  constructor(
    private readonly openBase64: OpenBuffer,
    private readonly array: AnnouncedArray,
    private readonly atMost: number | undefined,
    private readonly mark: string,
  ) {}

  /** The bytes stay as they are: the reader is given chunks that nobody uses again. */
  write(text: Uint8Array): void {
    this.length += text.length;
    if (this.sink === undefined) {
      this.pieces.push(text);
      if (!this.isText && this.decoded === undefined && this.length > DECIDE_AT) this.decide();
      return;
    }
    this.decode(this.sink, text);
  }

  end(): string {
    if (this.sink !== undefined) this.decoded = this.finish(this.sink);
    return this.mark;
  }

  /** @param path of the array, for messages */
  base64(): Base64Buffer {
    this.taken = true;
    if (this.decoded === undefined) {
      const sink = this.openBase64(this.array, this.length);
      this.sink = sink;
      for (const piece of this.pieces.splice(0)) this.decode(sink, piece);
      this.decoded ??= this.finish(sink);
    }
    return this.decoded;
  }

  /** The string itself, if it can still be had. */
  text(): string | undefined {
    this.taken = true;
    if (this.length > LONGEST_STRING) return undefined;
    if (this.decoded === undefined) return Buffer.concat(this.pieces).toString("utf8");
    if (!this.decoded.ok || !(this.decoded.buffer instanceof Uint8Array)) return undefined;
    const bytes = this.decoded.buffer;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
    return text.length === this.length ? text : undefined;
  }

  private decide(): void {
    this.isText = !this.pieces.every(isBase64);
    if (this.isText) return;
    const sink = this.openBase64(this.array, this.atMost);
    this.sink = sink;
    for (const piece of this.pieces.splice(0)) this.decode(sink, piece);
  }

  private decode(sink: BufferSink, text: Uint8Array): void {
    if (this.decoded !== undefined) return;
    try {
      sink.write(text);
    } catch (error) {
      this.decoded = failed(error);
    }
  }

  private finish(sink: BufferSink): Base64Buffer {
    if (this.decoded !== undefined) return this.decoded;
    try {
      return { ok: true, buffer: sink.end() };
    } catch (error) {
      return failed(error);
    }
  }
}

function failed(error: unknown): Base64Buffer {
  if (!(error instanceof TesseractError)) throw error;
  return { ok: false, error };
}

function isBase64(text: Uint8Array): boolean {
  return text.every(
    (byte) =>
      (byte >= 0x41 && byte <= 0x5a) ||
      (byte >= 0x61 && byte <= 0x7a) ||
      (byte >= 0x2f && byte <= 0x39) ||
      byte === 0x2b ||
      byte === 0x3d,
  );
}
