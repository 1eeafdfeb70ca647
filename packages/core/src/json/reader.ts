/**
 * Reads JSON as it arrives, piece by piece, so that a message is never one string and its arrays are decoded while the
 * rest is still on its way. Whole numbers beyond 2^53 come out as bigints. Member names that would reach an object's
 * prototype are refused.
 */
import type { AnnouncedArray, BufferSink } from "../transport.js";
import { parseNumber, plain, readPlainNumber } from "./number.js";
import { JsonSyntaxError } from "./syntax-error.js";
import { BufferString, StringCollector, type StringSink, shortString } from "./text.js";
import { MAX_DEPTH } from "./writer.js";
import { noteFloatIn, noteFloatMember } from "./written-floats.js";

export interface JsonReaderOptions {
  /**
   * Asked for each long `buffer` string of an array whose shape and dtype have been read already. What the sink makes
   * of it stands in the tree in the string's place.
   */
  openBuffer?(array: AnnouncedArray, atMost: number | undefined): BufferSink | undefined;
  /** Bytes of the whole text, where known. */
  readonly byteLength?: number | undefined;
  /** Whether numbers that are written as floats are noted: see `hasWrittenFloat` and `isWrittenFloat`. */
  readonly notesFloats?: boolean;
}

type JsonObject = { [key: string]: unknown };
interface Frame {
  readonly object: JsonObject | undefined;
  readonly list: unknown[] | undefined;
  key: string;
}

type Expecting = "value" | "firstValue" | "firstKey" | "key" | "colon" | "next" | "nothing";

/** The longest text of a number or a literal that is read. */
const LONGEST_TOKEN = 4096;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class JsonReader {
  private readonly stack: Frame[] = [];
  private expecting: Expecting = "value";
  private result: unknown;
  /** The beginning of a number or literal that the last chunk ended in. */
  private token = "";
  /** Where the token, or else the string, begins that is being read. */
  private start = 0;
  private string: StringSink | undefined;
  private stringIsKey = false;
  /** An escape sequence that the last chunk ended in. */
  private escape = "";
  private consumed = 0;
  /** The list whose floats have been noted last. */
  private noted: Frame | undefined;

  constructor(private readonly options: JsonReaderOptions = {}) {}

  /** @throws JsonSyntaxError, and what a sink throws */
  write(chunk: Uint8Array): void {
    let at = 0;
    if (this.string !== undefined) at = this.continueString(chunk, 0);
    else if (this.token !== "") at = this.readToken(chunk, 0);
    while (at < chunk.length) at = this.readNext(chunk, at);
    this.consumed += chunk.length;
  }

  /** @throws JsonSyntaxError if the text isn't complete */
  end(): unknown {
    if (this.token !== "" && this.string === undefined) this.finishToken();
    if (this.expecting !== "nothing") throw this.unexpected("The text ends too early", 0);
    return this.result;
  }

  private readNext(chunk: Uint8Array, at: number): number {
    const byte = chunk[at] as number;
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return at + 1;
    switch (this.expecting) {
      case "next":
        return this.readSeparator(byte, at);
      case "colon":
        if (byte !== 0x3a) throw this.unexpected("A colon is missing", at);
        this.expecting = "value";
        return at + 1;
      case "firstKey":
        if (byte === 0x7d) return this.close(at);
        return this.readKey(chunk, byte, at);
      case "key":
        return this.readKey(chunk, byte, at);
      case "firstValue":
        if (byte === 0x5d) return this.close(at);
        return this.readValue(chunk, byte, at);
      case "value":
        return this.readValue(chunk, byte, at);
      case "nothing":
        throw this.unexpected("Something follows the end of the text", at);
    }
  }

  private readSeparator(byte: number, at: number): number {
    const frame = this.top();
    if (byte === 0x2c) {
      this.expecting = frame.object === undefined ? "value" : "key";
      return at + 1;
    }
    if (byte === (frame.object === undefined ? 0x5d : 0x7d)) return this.close(at);
    throw this.unexpected("A comma or a closing bracket is missing", at);
  }

  private readKey(chunk: Uint8Array, byte: number, at: number): number {
    if (byte !== QUOTE) throw this.unexpected("A member's name is missing", at);
    return this.readString(chunk, at + 1, true);
  }

  private readValue(chunk: Uint8Array, byte: number, at: number): number {
    switch (byte) {
      case 0x7b:
        return this.open({ object: {}, list: undefined, key: "" }, "firstKey", at);
      case 0x5b:
        return this.open({ object: undefined, list: [], key: "" }, "firstValue", at);
      case QUOTE:
        return this.readString(chunk, at + 1, false);
      default: {
        const length = readPlainNumber(chunk, at);
        if (length === 0) return this.readToken(chunk, at);
        if (plain.isFloat && this.options.notesFloats === true) this.noteFloat();
        this.add(plain.value, at);
        return at + length;
      }
    }
  }

  private open(frame: Frame, expecting: Expecting, at: number): number {
    if (this.stack.length >= MAX_DEPTH)
      throw this.unexpected(`The text is nested more than ${MAX_DEPTH} levels deep`, at);
    this.stack.push(frame);
    this.expecting = expecting;
    return at + 1;
  }

  private close(at: number): number {
    const frame = this.top();
    this.stack.pop();
    this.add(frame.object ?? frame.list, at);
    return at + 1;
  }

  private add(value: unknown, at: number): void {
    const frame = this.stack[this.stack.length - 1];
    if (frame === undefined) {
      this.result = value;
      this.expecting = "nothing";
      return;
    }
    if (frame.list !== undefined) {
      frame.list.push(value);
    } else if (frame.object !== undefined) {
      if (frame.key === "constructor" && typeof value === "object" && value !== null && "prototype" in value) {
        throw this.unexpected('A member named "constructor" with a "prototype" is refused', at);
      }
      frame.object[frame.key] = value;
    }
    this.expecting = "next";
  }

  private setKey(key: string, at: number): void {
    if (key === "__proto__") throw this.unexpected('A member named "__proto__" is refused', at);
    this.top().key = key;
    this.expecting = "colon";
  }

  // Numbers and literals

  private readToken(chunk: Uint8Array, start: number): number {
    if (this.token === "") this.start = this.consumed + start;
    let at = start;
    while (at < chunk.length && isTokenByte(chunk[at] as number)) at++;
    if (this.token.length + at - start > LONGEST_TOKEN) {
      throw new JsonSyntaxError("A number has too many digits", this.start);
    }
    for (let i = start; i < at; i++) this.token += String.fromCharCode(chunk[i] as number);
    if (at < chunk.length) this.finishToken();
    return at;
  }

  private finishToken(): void {
    const { token } = this;
    const at = this.start - this.consumed;
    this.token = "";
    const value = token === "true" ? true : token === "false" ? false : token === "null" ? null : parseNumber(token);
    if (value === undefined)
      throw this.unexpected(token === "" ? "A value is missing" : `Unexpected ${quote(token)}`, at);
    if (typeof value === "number" && /[.eE]/.test(token) && this.options.notesFloats === true) this.noteFloat();
    this.add(value, at);
  }

  private noteFloat(): void {
    const frame = this.stack[this.stack.length - 1];
    if (frame === undefined || frame === this.noted) return;
    if (frame.object !== undefined) {
      noteFloatMember(frame.object, frame.key);
    } else if (frame.list !== undefined) {
      noteFloatIn(frame.list);
      this.noted = frame;
    }
  }

  // Strings

  private readString(chunk: Uint8Array, start: number, isKey: boolean): number {
    this.stringIsKey = isKey;
    this.start = this.consumed + start;
    const end = chunk.indexOf(QUOTE, start);
    const buffer = isKey || (end >= 0 && end - start < BufferString.SHORT) ? undefined : this.bufferString(start);
    if (buffer === undefined && end >= 0 && isPlain(chunk, start, end)) {
      this.finishString(shortString(chunk, start, end, this.start));
      return end + 1;
    }
    this.string = buffer ?? new StringCollector(this.start);
    return this.continueString(chunk, start);
  }

  private bufferString(at: number): StringSink | undefined {
    const { byteLength, openBuffer } = this.options;
    if (openBuffer === undefined) return undefined;
    const data = this.stack[this.stack.length - 1];
    const array = this.stack[this.stack.length - 2];
    if (data?.key !== "buffer" || array?.key !== "data" || array.object === undefined) return undefined;
    if (!("shape" in array.object && "dtype" in array.object)) return undefined;
    const { shape, dtype } = array.object;
    const atMost = byteLength === undefined ? undefined : Math.max(0, byteLength - this.consumed - at);
    const path = this.pathOfArray();
    return new BufferString(this.start, () => openBuffer({ path, shape, dtype }, atMost));
  }

  /** The path of the array whose `data` is being read, as it is given when it is decoded. */
  private pathOfArray(): string {
    const parts = this.stack.slice(0, -2).map(({ list, key }) => (list === undefined ? key : `[${list.length}]`));
    return parts.join(".");
  }

  /** Reads on in a string that needs more than one piece: it goes on in the next chunk, has escapes, or has a sink. */
  private continueString(chunk: Uint8Array, start: number): number {
    const string = this.string as StringSink;
    let at = start;
    if (this.escape !== "") at = this.continueEscape(chunk, at, string);
    let quote = chunk.indexOf(QUOTE, at);
    let backslash = chunk.indexOf(BACKSLASH, at);
    for (;;) {
      if (this.escape !== "") return at;
      if (quote >= 0 && quote < at) quote = chunk.indexOf(QUOTE, at);
      if (backslash >= 0 && backslash < at) backslash = chunk.indexOf(BACKSLASH, at);
      const escaped = backslash >= 0 && (quote < 0 || backslash < quote);
      const end = escaped ? backslash : quote < 0 ? chunk.length : quote;
      if (end > at) string.write(chunk.subarray(at, end));
      if (escaped) {
        this.escape = "\\";
        at = this.continueEscape(chunk, end + 1, string);
      } else if (quote >= 0) {
        this.string = undefined;
        this.finishString(string.end());
        return quote + 1;
      } else {
        return end;
      }
    }
  }

  /** Reads on in an escape sequence, as far as the chunk goes. */
  private continueEscape(chunk: Uint8Array, start: number, string: StringSink): number {
    let at = start;
    while (at < chunk.length) {
      this.escape += String.fromCharCode(chunk[at++] as number);
      if (this.escape[1] === "u" && this.escape.length < 6) continue;
      const text = unescaped(this.escape);
      if (text === undefined) throw this.unexpected(`Unexpected escape ${quote(this.escape)}`, at);
      this.escape = "";
      string.escape(text);
      break;
    }
    return at;
  }

  private finishString(value: unknown): void {
    const at = this.start - this.consumed;
    if (this.stringIsKey) this.setKey(value as string, at);
    else this.add(value, at);
  }

  private top(): Frame {
    // States that ask for the innermost frame only exist within one.
    return this.stack[this.stack.length - 1] as Frame;
  }

  private unexpected(message: string, at: number): JsonSyntaxError {
    return new JsonSyntaxError(message, this.consumed + at);
  }
}

const isTokenByte = (byte: number): boolean =>
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x2d ||
  byte === 0x2b ||
  byte === 0x2e ||
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x41 && byte <= 0x5a);

/** Whether a string that stands whole in `bytes` has neither escapes nor control characters. */
function isPlain(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte === BACKSLASH || byte < 0x20) return false;
  }
  return true;
}

const simpleEscapes: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

function unescaped(sequence: string): string | undefined {
  if (sequence[1] !== "u") return simpleEscapes[sequence[1] ?? ""];
  return /^\\u[0-9a-fA-F]{4}$/.test(sequence) ? String.fromCharCode(Number.parseInt(sequence.slice(2), 16)) : undefined;
}

const quote = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
