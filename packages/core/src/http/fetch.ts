/** HTTP by the platform's `fetch`, in browsers and other runtimes. */
import { Closing } from "../closing.js";
import { TesseractError } from "../errors.js";
import type { HttpClient, HttpClientOptions, HttpRequest, RequestBody } from "./http-client.js";

export function createHttpClient({ origin }: HttpClientOptions): HttpClient {
  const closing = new Closing();
  return {
    async send(request) {
      const ended = new AbortController();
      const forward = (): void => ended.abort(request.signal.reason);
      closing.add(ended);
      request.signal.addEventListener("abort", forward);
      try {
        request.signal.throwIfAborted();
        await exchange(origin, request, ended.signal);
      } finally {
        request.signal.removeEventListener("abort", forward);
        closing.delete(ended);
      }
    },
    async close() {
      closing.close(new TesseractError("CLOSED", "This Tesseract was closed"));
    },
  };
}

async function exchange(origin: string, request: HttpRequest, signal: AbortSignal): Promise<void> {
  const body = request.body === undefined ? null : await collect(request.body);
  const response = await fetch(origin + request.path, {
    method: request.method,
    headers: request.headers,
    body,
    signal,
    cache: "no-store",
    redirect: "manual",
  }).catch((error: unknown) => {
    if (signal.aborted) throw signal.reason;
    throw new TesseractError("CONNECTION_FAILED", `No connection to ${origin}: ${String(error)}`, {
      cause: error,
      hint: "Is the Tesseract being served there? From a page, does the server allow the page's origin (CORS)?",
    });
  });
  if (response.type === "opaqueredirect") {
    throw new TesseractError("SERVER_ERROR", `The server at ${origin} answered with a redirect, which isn't followed`, {
      hint: "Give the URL that it redirects to.",
    });
  }
  const reader = response.body?.getReader();
  try {
    const sink = request.respond({ status: response.status, header: (name) => headerOf(response, name) });
    if (reader === undefined) return;
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        throw new TesseractError(
          "CONNECTION_LOST",
          `The server at ${origin} ended the connection in the middle of its answer`,
          {
            cause: error,
            hint: "The endpoint may have run. See the server's log for whether it died.",
          },
        );
      });
      if (done) return;
      sink.write(value);
    }
  } catch (error) {
    // The reason given is what the caller learns; that the cancelled stream may report one more error adds nothing.
    reader?.cancel(error).catch(() => {});
    throw error;
  }
}

/** `fetch` decompresses an answer but still shows the headers that described it before. */
function headerOf({ headers }: Response, name: string): string | undefined {
  const isCompressed = (headers.get("content-encoding") ?? "identity") !== "identity";
  if (isCompressed && (name === "content-encoding" || name === "content-length")) return undefined;
  return headers.get(name) ?? undefined;
}

/** `fetch` can't stream a request over HTTP/1.1; a Blob of pieces is at least never one string. */
async function collect(body: RequestBody): Promise<Blob> {
  if (body.bytes !== undefined) return new Blob([owned(body.bytes)]);
  const parts: Blob[] = [];
  for await (const chunk of body.chunks()) parts.push(new Blob([owned(chunk)]));
  return new Blob(parts);
}

/** Blob takes no views of shared memory. */
const owned = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
