/** Small servers that behave well or badly. */
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Server, type Socket } from "node:net";

export interface TestServer extends AsyncDisposable {
  readonly origin: string;
  /** Every connection that was ever made. */
  readonly sockets: readonly Socket[];
  /** Resolves when the first connections have ended, as many as there were requests in flight. */
  ended(connections?: number): Promise<void>;
  close(): Promise<void>;
}

async function listening(server: Server): Promise<TestServer> {
  const sockets: Socket[] = [];
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.push(socket);
    open.add(socket);
    // Clients that give up, and sockets that are destroyed on purpose, are no failures of a test.
    socket.on("error", () => {});
    socket.on("close", () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of open) socket.destroy();
    });
  return {
    origin: `http://127.0.0.1:${port}`,
    sockets,
    async ended(connections = 1) {
      const pending = sockets.slice(0, connections).filter((socket) => open.has(socket));
      await Promise.all(pending.map((socket) => new Promise((resolve) => socket.once("close", resolve))));
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
  readonly socket: Socket;
}

/** Answers each request once its body is complete. */
export function serve(
  handle: (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>,
): Promise<TestServer> {
  return serveUnread((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers, socket } = incoming;
      void handle({ method, url, headers, socket, body: Buffer.concat(chunks) }, response);
    });
  });
}

/** Answers each request before its body is read. */
export function serveUnread(
  handle: (incoming: IncomingMessage, response: ServerResponse) => void,
): Promise<TestServer> {
  const server = createHttpServer((incoming, response) => {
    // A client that goes away in the middle of its request.
    incoming.on("error", () => {});
    handle(incoming, response);
  });
  server.keepAliveTimeout = 60_000;
  return listening(server);
}

/** A server that need not speak HTTP. `received` is called with all that came over the connection so far. */
export const serveBytes = (received: (socket: Socket, text: string) => void): Promise<TestServer> =>
  listening(
    createNetServer((socket) => {
      let text = "";
      socket.setEncoding("latin1");
      socket.on("data", (chunk) => {
        text += String(chunk);
        received(socket, text);
      });
    }),
  );

/** A server that answers each request with these bytes and closes. */
export const serveAnswer = (...answer: readonly string[]): Promise<TestServer> =>
  serveBytes((socket, text) => {
    if (text.includes("\r\n\r\n")) socket.end(answer.join("\r\n"), "latin1");
  });

export function json(response: ServerResponse, value: unknown, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(200, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

/** An address that nobody listens at. */
export async function unusedOrigin(): Promise<string> {
  const server = await serve(() => {});
  await server.close();
  return server.origin;
}

/** The OpenAPI document of a Tesseract with these endpoints. */
export const openapi = (changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> => ({
  openapi: "3.1.0",
  paths: { "/apply": {}, "/abstract_eval": {}, "/health": {} },
  "x-supported-output-formats": ["json", "json+base64", "json+binref"],
  "x-supported-gpu-transports": ["none"],
  "x-supported-compressions": ["none", "lz4"],
  ...changes,
});

/** A Tesseract whose endpoints answer as `handle` says; it has its OpenAPI document, and is healthy, without that. */
export const serveTesseract = (
  handle: (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>,
  schema: unknown = openapi(),
): Promise<TestServer> =>
  serve((request, response) => {
    if (request.url === "/openapi.json") return json(response, schema);
    if (request.url === "/health") return json(response, { status: "ok" });
    return handle(request, response);
  });
