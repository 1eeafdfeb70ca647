/** Reads one HTTP answer: a tree if it went well, a typed error otherwise. */
import { TesseractError } from "../errors.js";
import type { ResponseHead, ResponseSink } from "../http/http-client.js";
import { JsonReader, type JsonReaderOptions } from "../json/reader.js";
import { JsonSyntaxError } from "../json/syntax-error.js";
import { loadPart } from "../load-part.js";

export interface AnswerOptions {
  /** What answered, for error messages. */
  readonly what: string;
  readonly maxBytes: number;
  /** How `buffer` strings are taken in an answer of the format that its content type names. */
  readonly openBuffer?: (format: string) => JsonReaderOptions["openBuffer"];
}

/** An error's body is kept up to this many bytes. */
const LONGEST_ERROR = 1 << 20;

export class Answer {
  private finish: (() => unknown) | undefined;

  constructor(private readonly options: AnswerOptions) {}

  /** @throws TesseractError RESPONSE_TOO_LARGE */
  begin(head: ResponseHead): ResponseSink {
    const { maxBytes } = this.options;
    const byteLength = contentLength(head);
    if (byteLength !== undefined && byteLength > maxBytes) throw this.tooLarge();
    const sink = isJson(head) ? this.readTree(head, byteLength) : this.readError(head);
    let received = 0;
    return {
      write: (chunk) => {
        received += chunk.length;
        if (received > maxBytes) throw this.tooLarge();
        sink.write(chunk);
      },
    };
  }

  /** @throws TesseractError */
  async end(): Promise<unknown> {
    if (this.finish === undefined) throw new TesseractError("CONNECTION_LOST", `${this.options.what} gave no answer`);
    return this.finish();
  }

  private readTree(head: ResponseHead, byteLength: number | undefined): ResponseSink {
    const openBuffer = this.options.openBuffer?.(formatOf(head));
    const reader = new JsonReader({ byteLength, ...(openBuffer === undefined ? {} : { openBuffer }) });
    this.finish = () => this.typed(() => reader.end());
    return { write: (chunk) => this.typed(() => reader.write(chunk)) };
  }

  private readError(head: ResponseHead): ResponseSink {
    const chunks: Uint8Array[] = [];
    let kept = 0;
    this.finish = async () => {
      const decoder = new TextDecoder();
      const body = chunks.map((chunk) => decoder.decode(chunk, { stream: true })).join("") + decoder.decode();
      const { errorOfAnswer } = await loadPart(() => import("#http-error"), { status: head.status, body });
      throw errorOfAnswer(this.options.what, head, body);
    };
    return {
      write: (chunk) => {
        if (kept >= LONGEST_ERROR) return;
        // Copied, since the chunk is the connection's.
        chunks.push(chunk.slice(0, LONGEST_ERROR - kept));
        kept += chunk.length;
      },
    };
  }

  private typed<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      throw new TesseractError(
        "MALFORMED_RESPONSE",
        `The answer of ${this.options.what} isn't JSON: ${error.message}`,
        {
          cause: error,
        },
      );
    }
  }

  private tooLarge(): TesseractError {
    const { what, maxBytes } = this.options;
    return new TesseractError("RESPONSE_TOO_LARGE", `The answer of ${what} is larger than ${maxBytes} bytes`, {
      hint: "Raise `maxResponseBytes` if such answers are expected.",
    });
  }
}

function contentLength(head: ResponseHead): number | undefined {
  const text = head.header("content-length");
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

const mediaType = (head: ResponseHead): string =>
  (head.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";

/** The output format that an answer's content type names: `json+base64`. */
const formatOf = (head: ResponseHead): string => mediaType(head).replace(/^application\//, "");

/** Runtimes before 1.13 give no content type where none was asked for. */
const isJson = (head: ResponseHead): boolean =>
  head.status >= 200 &&
  head.status < 300 &&
  (mediaType(head).includes("json") || mediaType(head) === "") &&
  (head.header("content-encoding") ?? "identity") === "identity";
