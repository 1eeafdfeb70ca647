/** Sends answers. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { JsonBody } from "@tesseract-ts/core/message";
import type { FastifyReply } from "fastify";
import type { Refusal } from "./refusal.js";

/** How long a client may go on sending a body that was refused, in milliseconds; it may read the answer only then. */
const LINGER_MS = 2_000;

const asItIs = (text: unknown): string => text as string;

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Sends a body of JSON; a large one in pieces, as fast as the client takes them. */
export async function sendJson(
  reply: FastifyReply,
  contentType: string,
  headers: Readonly<Record<string, string>>,
  body: JsonBody,
): Promise<void> {
  reply.headers(headers);
  reply.header("content-type", contentType);
  if (body.text !== undefined) {
    // With a string, head and body leave in one write. A serializer keeps Fastify from adding a charset to its type.
    reply.serializer(asItIs).send(body.text);
    return;
  }
  if (body.bytes !== undefined) {
    reply.send(asBuffer(body.bytes));
    return;
  }
  if (body.byteLength !== undefined) reply.header("content-length", body.byteLength);
  reply.hijack();
  const response = reply.raw;
  response.writeHead(200, reply.getHeaders() as Record<string, string>);
  try {
    await sendChunks(response, body.chunks());
    response.end();
  } catch (error) {
    // The head is gone, so that only a broken connection tells the client.
    response.destroy();
    throw error;
  }
}

/** A chunk stays as it is until the next but one is asked for; so it must have left by then. */
async function sendChunks(response: ServerResponse, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let before: Promise<void> = Promise.resolve();
  for await (const chunk of chunks) {
    const sent = new Promise<void>((resolve, reject) => {
      response.write(chunk, (error) => (error == null ? resolve() : reject(error)));
    });
    sent.catch(() => {});
    await before;
    before = sent;
  }
  await before;
}

/** JSON.stringify refuses bigints; a number is near enough in what repeats a request. */
const withNumbers = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value);

export function sendRefusal(reply: FastifyReply, { status, detail, headers, unread }: Refusal): void {
  if (unread) linger(reply.raw);
  reply.code(status).headers(headers).header("content-type", "application/json");
  reply.serializer(asItIs).send(JSON.stringify({ detail }, withNumbers));
}

/**
 * The rest of a body is read and dropped for a while: a connection that is closed while data is still coming is reset, and
 * takes the answer with it.
 */
export function linger(response: ServerResponse): void {
  const { req: request } = response;
  if (request.complete) return;
  request.resume();
  const timer = setTimeout(() => request.destroy(), LINGER_MS);
  const ended = (): void => clearTimeout(timer);
  void once(request, "close").then(ended, ended);
}
