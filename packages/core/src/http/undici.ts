/** HTTP in Node: a pool of connections by undici. */
import type { Readable } from "node:stream";
import { type Dispatcher, errors, Pool } from "undici";
import { TesseractError } from "../errors.js";
import type { HttpClient, HttpClientOptions, HttpRequest, RequestBody, ResponseSink } from "./http-client.js";

/**
 * Idle connections are closed before the shortest keep-alive of the usual servers (uvicorn's default is 5 s, the
 * reference runtime's 60 s), so that a request seldom meets a connection that the server has just given up.
 */
const KEEP_ALIVE_MS = 4_000;
const CONNECT_TIMEOUT_MS = 30_000;

export function createHttpClient({ origin, connections }: HttpClientOptions): HttpClient {
  const pool = new Pool(origin, {
    connections,
    // A simulation may compute for hours before it answers; the caller's timeout is the only one.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
  return {
    async send(request) {
      try {
        await exchange(pool, request, origin);
      } catch (error) {
        if (!(error instanceof NeverReceived)) throw error;
        // A connection that the server had given up meanwhile. The next one is fresh, or fails for good.
        await exchange(pool, request, origin).catch((again) => {
          throw again instanceof NeverReceived ? again.failure : again;
        });
      }
    },
    async close() {
      await pool.destroy();
    },
  };
}

/** A failure after which the request may be sent again, since the server can't have acted on it. */
class NeverReceived {
  constructor(readonly failure: TesseractError) {}
}

function exchange(pool: Pool, request: HttpRequest, origin: string): Promise<void> {
  const { signal } = request;
  return new Promise((resolve, reject) => {
    let controller: Dispatcher.DispatchController | undefined;
    let sink: ResponseSink | undefined;
    let failure: unknown;
    /** Bytes to come of an answer whose connection isn't used again. */
    let lastBytes: number | undefined;
    const delivery = request.body === undefined ? undefined : new Delivery(request.body);

    const settle = (outcome: () => void): void => {
      signal.removeEventListener("abort", onAbort);
      outcome();
    };
    const fail = (error: unknown): void => {
      failure ??= error;
      controller?.abort(error instanceof Error ? error : new Error(String(error)));
      settle(() => reject(failure));
    };
    /**
     * After an exception in an endpoint, uvicorn closes the connection some milliseconds after its answer, without having
     * said so. The next request would be lost on it, whole, so that it couldn't be sent again.
     */
    const finishWithConnection = (): void => {
      failure = new Error("The connection of an error answer isn't used again");
      settle(resolve);
      controller?.abort(failure as Error);
    };
    const onAbort = (): void => fail(signal.reason);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) return onAbort();

    pool.dispatch(
      {
        method: request.method,
        path: request.path,
        headers: headersFor(request),
        // undici takes any asynchronous iterable, as its documentation says; its types know only streams.
        body: delivery === undefined ? null : (delivery.body() as unknown as Readable),
      },
      {
        onRequestStart(started) {
          controller = started;
          if (failure !== undefined) started.abort(new Error("given up"));
        },
        onResponseStart(_, status, headers) {
          if (status < 200) return;
          if (status >= 500) lastBytes = Number(headers["content-length"]);
          try {
            sink = request.respond({
              status,
              header: (name) => {
                const value = headers[name];
                return Array.isArray(value) ? value.join(", ") : value;
              },
            });
          } catch (error) {
            fail(error);
          }
        },
        onResponseData(_, chunk) {
          if (failure !== undefined) return;
          try {
            sink?.write(chunk);
          } catch (error) {
            fail(error);
            return;
          }
          if (lastBytes === undefined) return;
          lastBytes -= chunk.length;
          if (lastBytes === 0) finishWithConnection();
        },
        onResponseEnd() {
          if (failure === undefined) settle(resolve);
        },
        onResponseError(_, error) {
          if (failure !== undefined) return;
          const described = describe(error, origin, sink !== undefined);
          const unanswered = sink === undefined && isLostConnection(error);
          const harmless = request.method === "GET" || delivery?.complete === false;
          fail(unanswered && harmless && !(delivery?.failed ?? false) ? new NeverReceived(described) : described);
        },
      },
    );
  });
}

function headersFor({ headers, body }: HttpRequest): Record<string, string> {
  return body?.byteLength === undefined ? { ...headers } : { ...headers, "content-length": String(body.byteLength) };
}

/**
 * Sends a body so that it is known whether the server can have had all of it. A server acts on a request once the
 * body is complete; so the last bytes are held back until a poll of the sockets has shown whether the connection had
 * been closed meanwhile (RFC 9112, section 9.6, tells clients to expect just that). If it fails before then, nothing
 * has run, and the request may be sent again.
 */
class Delivery {
  complete = false;
  /** The body's own source threw. */
  failed = false;

  constructor(private readonly source: RequestBody) {}

  async *body(): AsyncGenerator<Uint8Array> {
    let held: Uint8Array | undefined;
    try {
      for await (const chunk of this.source.bytes === undefined ? this.source.chunks() : [this.source.bytes]) {
        if (held !== undefined) yield held;
        held = chunk;
      }
    } catch (error) {
      this.failed = true;
      throw error;
    }
    if (held === undefined || held.length === 0) {
      this.complete = true;
      return;
    }
    if (held.length > 1) yield held.subarray(0, -1);
    await new Promise(setImmediate);
    this.complete = true;
    yield held.subarray(-1);
  }
}

const lostCodes = new Set(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE", "ECONNABORTED"]);

const codeOf = (error: Error): string => String((error as { readonly code?: unknown }).code ?? "");

function isLostConnection(error: Error): boolean {
  return lostCodes.has(codeOf(error));
}

function describe(error: Error, origin: string, answering: boolean): TesseractError {
  if (error instanceof TesseractError) return error;
  if (error instanceof errors.HTTPParserError) {
    return new TesseractError("MALFORMED_RESPONSE", `The answer of ${origin} isn't HTTP: ${error.message}`, {
      cause: error,
    });
  }
  if (isLostConnection(error)) {
    const when = answering ? "in the middle of its answer" : "before it answered";
    return new TesseractError("CONNECTION_LOST", `The server at ${origin} ended the connection ${when}`, {
      cause: error,
      hint: "The endpoint may have run. See the server's log for whether it died, and call again if that does no harm.",
    });
  }
  if (error instanceof errors.ClientDestroyedError) {
    return new TesseractError("CLOSED", "This Tesseract was closed", { cause: error });
  }
  if (error instanceof errors.RequestContentLengthMismatchError) {
    return new TesseractError("INVALID_ARGUMENT", `The request's body isn't as long as announced: ${error.message}`, {
      cause: error,
      hint: "A transport gave a byteLength that its chunks don't have.",
    });
  }
  if (error instanceof errors.UndiciError && !(error instanceof errors.ConnectTimeoutError)) {
    return new TesseractError("MALFORMED_RESPONSE", `The answer of ${origin} isn't HTTP: ${error.message}`, {
      cause: error,
    });
  }
  return new TesseractError("CONNECTION_FAILED", `No connection to ${origin}: ${error.message || codeOf(error)}`, {
    cause: error,
    hint: "Is the Tesseract being served there, and is the port right?",
  });
}
