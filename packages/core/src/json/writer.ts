/** Writes a tree as JSON into a request body whose large parts are made while it is sent. */
import { TesseractError } from "../errors.js";
import type { RequestBody } from "../http/http-client.js";
import type { TextSource } from "../transport.js";

/** Bodies up to this many bytes are built at once; sending one buffer costs less than sending pieces. */
const SMALL_BODY = 1 << 18;
/** Sources up to this many bytes are asked for their whole text, if they have it: a string is joined to others for nothing. */
const SHORT_SOURCE = 1 << 15;
/** Characters of text that are gathered before they become bytes: a long list isn't one string either. */
const LONGEST_TEXT = 1 << 20;
const encoder = new TextEncoder();

/** Nesting beyond this is taken for a mistake; the reference's JSON reader has a limit of its own. */
export const MAX_DEPTH = 256;

export const isTextSource = (value: unknown): value is TextSource =>
  typeof value === "object" &&
  value !== null &&
  "chunks" in value &&
  typeof value.chunks === "function" &&
  "as" in value;

/** A tree's JSON: pieces of text, and sources of text. */
export class JsonBody implements RequestBody {
  /** The whole body, where it is small and all its sources could give their texts. */
  readonly text: string | undefined;
  private readonly length: number | undefined;
  private whole: Uint8Array | undefined;

  private constructor(
    private readonly parts: readonly (Uint8Array | TextSource)[],
    text: string | undefined,
  ) {
    this.text = text;
    if (text !== undefined) return;
    this.length = parts.reduce<number | undefined>(
      (sum, part) => (sum === undefined || part.byteLength === undefined ? undefined : sum + part.byteLength),
      0,
    );
    this.whole = smallBody(parts, this.length);
  }

  get byteLength(): number | undefined {
    return this.text === undefined ? this.length : this.bytes?.length;
  }

  get bytes(): Uint8Array | undefined {
    if (this.text !== undefined) this.whole ??= encoder.encode(this.text);
    return this.whole;
  }

  /**
   * @param tree plain objects, lists, strings, finite numbers, bigints (written as whole numbers), booleans, nulls, and
   *   {@link TextSource}s; undefined members are left out
   * @throws TesseractError INVALID_TREE
   */
  static of(tree: unknown): JsonBody {
    const parts: (Uint8Array | TextSource)[] = [];
    let text = "";
    const flush = (): void => {
      if (text !== "") parts.push(encoder.encode(text));
      text = "";
    };
    const writeSource = (source: TextSource): void => {
      if (source.as === "string") text += '"';
      const whole = shortText(source);
      if (whole === undefined) {
        flush();
        parts.push(source);
      } else {
        text += whole;
        if (text.length > LONGEST_TEXT) flush();
      }
      if (source.as === "string") text += '"';
    };
    const write = (value: unknown): void => {
      if (typeof value !== "object" || value === null) {
        text += scalar(value);
      } else if (Array.isArray(value)) {
        text += "[";
        for (let index = 0; index < value.length; index++) {
          if (index > 0) text += ",";
          write(value[index]);
          if (text.length > LONGEST_TEXT) flush();
        }
        text += "]";
      } else if (isTextSource(value)) {
        writeSource(value);
      } else {
        text += "{";
        let first = true;
        for (const key of Object.keys(value)) {
          const member = (value as Readonly<Record<string, unknown>>)[key];
          if (member === undefined) continue;
          text += `${first ? "" : ","}${JSON.stringify(key)}:`;
          first = false;
          write(member);
        }
        text += "}";
      }
    };
    write(tree);
    if (parts.length === 0 && text.length <= SMALL_BODY) return new JsonBody(parts, text);
    flush();
    return new JsonBody(parts, undefined);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    if (this.text !== undefined) {
      yield encoder.encode(this.text);
      return;
    }
    for (const part of this.parts) {
      if (part instanceof Uint8Array) {
        yield part;
        continue;
      }
      try {
        yield* part.chunks();
      } catch (error) {
        throw brokenSource(error);
      }
    }
  }
}

function shortText(source: TextSource): string | undefined {
  if (source.text === undefined || source.byteLength === undefined || source.byteLength > SHORT_SOURCE)
    return undefined;
  try {
    return source.text();
  } catch (error) {
    throw brokenSource(error);
  }
}

function scalar(value: unknown): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") {
    if (Number.isFinite(value)) return Object.is(value, -0) ? "-0.0" : String(value);
    throw new TesseractError("INVALID_TREE", `JSON has no ${value}`, {
      hint: `Send it as an array: hostArray(${value}).`,
    });
  }
  if (typeof value === "string" || typeof value === "boolean" || value === null) return JSON.stringify(value);
  throw new TesseractError("INVALID_TREE", `A ${typeof value} can't be sent`);
}

/** The error of a transport's own code, told from those of the connection. */
function brokenSource(error: unknown): TesseractError {
  if (error instanceof TesseractError) return error;
  return new TesseractError(
    "TRANSPORT_UNUSABLE",
    `A transport failed while an array was being sent: ${String(error)}`,
    {
      cause: error,
    },
  );
}

/** The whole body, if it is short and can be had without waiting. */
function smallBody(
  parts: readonly (Uint8Array | TextSource)[],
  byteLength: number | undefined,
): Uint8Array | undefined {
  if (byteLength === undefined || byteLength > SMALL_BODY) return undefined;
  const bytes = new Uint8Array(byteLength);
  let offset = 0;
  try {
    for (const part of parts) {
      const chunks = part instanceof Uint8Array ? [part] : part.chunks();
      if (!(Symbol.iterator in chunks)) return undefined;
      for (const chunk of chunks) {
        if (offset + chunk.length > byteLength) return undefined;
        bytes.set(chunk, offset);
        offset += chunk.length;
      }
    }
  } catch (error) {
    throw brokenSource(error);
  }
  return offset === byteLength ? bytes : undefined;
}
