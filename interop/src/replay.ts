// A server that gives recorded or tampered answers, without Python.

import { goldenOpenApi } from "./golden.js";
import { type LocalServer, type ReceivedRequest, serveLocally } from "./local-server.js";

export interface Answer {
  /** 200 unless given. */
  readonly status?: number;
  /** `application/json` unless given. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Sends the body in pieces of so many bytes. */
  readonly piece?: number;
}

export interface Replay extends LocalServer {
  /** What was asked, but for the OpenAPI document. */
  readonly requests: readonly ReceivedRequest[];
}

/** Answers each request with what `answerTo` gives, and `/openapi.json` with that of the fixture `vectors`. */
export async function startReplay(
  answerTo: (request: ReceivedRequest) => Answer,
  openApi: string = goldenOpenApi(),
): Promise<Replay> {
  const requests: ReceivedRequest[] = [];
  const server = await serveLocally(async (request, response) => {
    const isSchema = request.path === "/openapi.json";
    if (!isSchema) requests.push(request);
    const { status = 200, headers, body, piece }: Answer = isSchema ? { body: openApi } : answerTo(request);
    response.writeHead(status, headers ?? { "content-type": "application/json" });
    const bytes = Buffer.from(body);
    if (piece === undefined) {
      response.end(bytes);
      return;
    }
    response.socket?.setNoDelay(true);
    for (let at = 0; at < bytes.length; at += piece) {
      response.write(bytes.subarray(at, at + piece));
      // A turn of the event loop, so that the pieces leave one by one.
      await new Promise(setImmediate);
    }
    response.end();
  });
  return { ...server, requests };
}
