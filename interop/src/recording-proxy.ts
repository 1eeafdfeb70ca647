// Stands between a client and a server, writes down what passes, and may alter the answers.

import { request as requestTo } from "node:http";
import { type LocalServer, type ReceivedRequest, serveLocally } from "./local-server.js";

export interface Exchange extends ReceivedRequest {
  readonly status: number;
  readonly answerHeaders: Readonly<Record<string, string | string[] | undefined>>;
  readonly answer: Buffer;
}

export interface RecordingProxy extends LocalServer {
  readonly exchanges: readonly Exchange[];
}

/** @param alter what the client gets in an answer's place, as text */
export async function startRecordingProxy(
  target: string,
  alter: (answer: string, path: string) => string = (answer) => answer,
): Promise<RecordingProxy> {
  const exchanges: Exchange[] = [];
  const server = await serveLocally(async (received, response) => {
    const exchange = await forward(target, received);
    exchanges.push(exchange);
    const answer = Buffer.from(alter(exchange.answer.toString(), received.path));
    response.writeHead(exchange.status, { ...exchange.answerHeaders, "content-length": answer.length }).end(answer);
  });
  return { ...server, exchanges };
}

/** Has the server answer a request. */
export function forward(target: string, received: ReceivedRequest): Promise<Exchange> {
  const { method, path, headers, body } = received;
  return new Promise((resolve, reject) => {
    const outgoing = requestTo(target + path, { method, headers }, async (incoming) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of incoming) chunks.push(chunk as Buffer);
      } catch (error) {
        reject(error);
        return;
      }
      const answer = Buffer.concat(chunks);
      resolve({ ...received, status: incoming.statusCode ?? 0, answerHeaders: incoming.headers, answer });
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}
