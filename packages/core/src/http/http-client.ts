/**
 * The one interface to HTTP. `#http` gives undici's pool in Node and `fetch` elsewhere.
 */

export interface ResponseHead {
  readonly status: number;
  /** The value of a header by its lower-case name. */
  header(name: string): string | undefined;
}

/** Takes an answer's body as it arrives. What `write` throws ends the exchange with that error. */
export interface ResponseSink {
  write(chunk: Uint8Array): void;
}

export interface RequestBody {
  /** Undefined where it isn't known before the last chunk. */
  readonly byteLength: number | undefined;
  /** The whole body, where it is small enough to be had at once. */
  readonly bytes?: Uint8Array | undefined;
  /** The body from its start; may be asked for again. A chunk stays as it is until the next but one is asked for. */
  chunks(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  /** The path and query below the server's origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  readonly signal: AbortSignal;
  /** Called once, with the answer's head. */
  respond(head: ResponseHead): ResponseSink;
}

export interface HttpClient {
  /**
   * Sends a request and resolves when the answer is complete. A POST is sent again only if it is certain that the
   * server never had the whole of it, so that an endpoint never runs twice.
   *
   * @throws TesseractError CONNECTION_FAILED, CONNECTION_LOST; the signal's reason; what the sink throws
   */
  send(request: HttpRequest): Promise<void>;
  /** Ends every connection. Requests in flight fail. */
  close(): Promise<void>;
}

export interface HttpClientOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  /** How many connections may be open at once. */
  readonly connections: number;
}
