/** Reads a request's body into a tree while it arrives. */
import type { IncomingMessage } from "node:http";
import { JsonReader, type JsonReaderOptions, JsonSyntaxError } from "@tesseract-ts/core/message";
import type { BodyClock } from "./body-clock.js";
import { invalid, Refusal } from "./refusal.js";

/** A text that is no JSON is kept up to this many bytes, for the error that repeats it. */
const LONGEST_TEXT = 1 << 16;

export interface BodyLimits {
  readonly maxRequestBytes: number;
  /** Tells when a body is late. */
  readonly clock: BodyClock;
}

export interface Body {
  readonly tree: unknown;
  readonly bytes: number;
}

/**
 * @param openBuffer how long buffers are taken
 * @throws Refusal 408, 413, 422; 499 if the client is gone
 */
export function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  openBuffer: JsonReaderOptions["openBuffer"],
): Promise<Body> {
  const byteLength = lengthOf(request);
  if (byteLength !== undefined && byteLength > limits.maxRequestBytes) return Promise.reject(tooLarge(limits));
  const reader = isJson(request.headers["content-type"]) ? new JsonText(byteLength, openBuffer) : new PlainText();
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const waiting = limits.clock.start(() => {
      fail(new Refusal(408, `The body didn't come within ${limits.clock.timeout} ms`, {}, true));
    });
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      waiting.bytes = bytes;
      try {
        if (bytes > limits.maxRequestBytes) throw tooLarge(limits);
        reader.write(chunk);
      } catch (error) {
        fail(error);
      }
    };
    const onEnd = (): void => {
      leave();
      try {
        resolve({ tree: bytes === 0 ? missing() : reader.end(), bytes });
      } catch (error) {
        reject(error);
      }
    };
    const onClose = (): void => fail(gone());
    const fail = (reason: unknown): void => {
      leave();
      reject(reason);
    };
    const leave = (): void => {
      limits.clock.stop(waiting);
      request.off("data", onData).off("end", onEnd).off("close", onClose);
    };
    request.on("data", onData).on("end", onEnd).on("close", onClose);
  });
}

interface BodyReader {
  write(chunk: Uint8Array): void;
  end(): unknown;
}

class JsonText implements BodyReader {
  private readonly reader: JsonReader;

  constructor(byteLength: number | undefined, openBuffer: JsonReaderOptions["openBuffer"]) {
    this.reader = new JsonReader({
      byteLength,
      notesFloats: true,
      ...(openBuffer === undefined ? {} : { openBuffer }),
    });
  }

  write(chunk: Uint8Array): void {
    this.typed(() => this.reader.write(chunk), true);
  }

  end(): unknown {
    const tree = this.typed(() => this.reader.end(), false);
    return tree === null ? missing() : tree;
  }

  private typed<T>(work: () => T, unread: boolean): T {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      const issue = {
        type: "json_invalid",
        loc: ["body", error.offset],
        msg: "JSON decode error",
        input: {},
        ctx: { error: error.message },
      };
      throw new Refusal(422, [issue], {}, unread);
    }
  }
}

/** As FastAPI does, a body of another type is a text, which no schema of a Tesseract admits. */
class PlainText implements BodyReader {
  private text = "";

  write(chunk: Uint8Array): void {
    if (this.text.length < LONGEST_TEXT) this.text += Buffer.from(chunk).toString("utf8");
  }

  end(): string {
    return this.text;
  }
}

function missing(): never {
  throw invalid({ type: "missing", loc: ["body"], msg: "Field required", input: null });
}

const tooLarge = ({ maxRequestBytes }: BodyLimits): Refusal =>
  new Refusal(413, `The body is larger than ${maxRequestBytes} bytes`, {}, true);

/** nginx's number for a client that doesn't wait; nobody reads it. */
const gone = (): Refusal => new Refusal(499, "The client closed the connection", {}, true);

function lengthOf(request: IncomingMessage): number | undefined {
  const text = request.headers["content-length"];
  return text === undefined ? undefined : Number(text);
}

export function isJson(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  const match = /^\s*([^/;\s]+)\/([^/;\s]+)\s*(?:;|$)/.exec(contentType ?? "");
  const subtype = match?.[2]?.toLowerCase() ?? "";
  return match?.[1]?.toLowerCase() === "application" && (subtype === "json" || subtype.endsWith("+json"));
}
