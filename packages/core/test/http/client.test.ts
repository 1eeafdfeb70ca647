import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { TesseractError } from "../../src/errors.js";
import { createHttpClient as createFetchClient } from "../../src/http/fetch.js";
import type { HttpClient, RequestBody } from "../../src/http/http-client.js";
import { createHttpClient as createUndiciClient } from "../../src/http/undici.js";
import { JsonBody } from "../../src/json/writer.js";
import { Answer } from "../../src/message/answer.js";
import type { TextSource } from "../../src/transport.js";
import { failureOf, pieces, tesseractError, utf8 } from "../support.js";
import {
  json,
  type ReceivedRequest,
  serve,
  serveAnswer,
  serveBytes,
  serveUnread,
  type TestServer,
  unusedOrigin,
} from "./servers.js";

interface Call {
  readonly method?: "GET" | "POST";
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
  readonly signal?: AbortSignal;
  readonly maxBytes?: number;
}

async function call(client: HttpClient, { method, path = "/apply", body, maxBytes = 1 << 26, ...rest }: Call = {}) {
  const answer = new Answer({ what: path, maxBytes });
  await client.send({
    method: method ?? (body === undefined ? "GET" : "POST"),
    path,
    headers: rest.headers ?? {},
    signal: rest.signal ?? new AbortController().signal,
    ...(body === undefined ? {} : { body }),
    respond: (head) => answer.begin(head),
  });
  return answer.end();
}

/** A body that comes in pieces; of unknown length unless told. */
const inPieces = (text: string, most: number, byteLength?: number): RequestBody => ({
  byteLength,
  async *chunks() {
    yield* pieces(utf8(text), most);
  },
});
const small = (): RequestBody => JsonBody.of({ inputs: { x: [1, 2, 3] } });
/** More than sockets buffer, so that it is never sent all at once. */
const large = (): RequestBody => {
  const chunk = utf8(" ".repeat(1 << 16));
  return { byteLength: 256 * chunk.length, chunks: () => Array.from({ length: 256 }, () => chunk) };
};

const clients = [
  { name: "undici", create: createUndiciClient, isUndici: true },
  { name: "fetch", create: createFetchClient, isUndici: false },
];

describe.each(clients)("over $name", ({ create, isUndici }) => {
  /** Runs `work` with a client of a server, and closes both. */
  async function withClient<T>(
    starting: Promise<TestServer>,
    work: (client: HttpClient, server: TestServer) => Promise<T>,
    connections = 8,
  ): Promise<T> {
    await using server = await starting;
    const client = create({ origin: server.origin, connections });
    try {
      return await work(client, server);
    } finally {
      await client.close();
    }
  }
  const failureFrom = (server: Promise<TestServer>, options?: Call): Promise<TesseractError> =>
    withClient(server, (client) => failureOf(() => call(client, options)));

  describe("a request", () => {
    test("arrives with its method, path, headers and body", async () => {
      const requests: ReceivedRequest[] = [];
      const server = serve((request, response) => {
        requests.push(request);
        json(response, [requests.length]);
      });
      await withClient(server, async (client) => {
        expect(await call(client, { path: "/health?run_id=a%20b", headers: { authorization: "Bearer x" } })).toEqual([
          1,
        ]);
        expect(await call(client, { body: small(), headers: { "content-type": "application/json" } })).toEqual([2]);
      });
      expect(requests).toMatchObject([
        { method: "GET", url: "/health?run_id=a%20b", headers: { authorization: "Bearer x" } },
        { method: "POST", url: "/apply", headers: { "content-type": "application/json", "content-length": "24" } },
      ]);
      expect(String(requests[1]?.body)).toBe('{"inputs":{"x":[1,2,3]}}');
    });

    test.each<[string, () => RequestBody, string]>([
      ["in one piece", () => JsonBody.of("x"), '"x"'],
      ["of one byte", () => JsonBody.of(1), "1"],
      ["in pieces of known length", () => inPieces("abcdefgh".repeat(1000), 999, 8000), "abcdefgh".repeat(1000)],
      ["in pieces of unknown length", () => inPieces("abcdefgh".repeat(1000), 999), "abcdefgh".repeat(1000)],
      ["in single bytes", () => inPieces("abc".repeat(30), 1, 90), "abc".repeat(30)],
      ["of no bytes", () => inPieces("", 1, 0), ""],
      [
        "with empty pieces",
        () => ({ byteLength: 2, chunks: () => [utf8(""), utf8("a"), utf8(""), utf8("b"), utf8("")] }),
        "ab",
      ],
    ])("has its body %s", async (_, body, expected) => {
      let got = "";
      const server = serve((request, response) => {
        got = String(request.body);
        json(response, "done");
      });
      expect(await withClient(server, (client) => call(client, { body: body() }))).toBe("done");
      expect(got).toBe(expected);
    });

    test("may be larger than what is buffered on the way", async () => {
      const server = serve(({ body }, response) => json(response, body.length));
      expect(await withClient(server, (client) => call(client, { body: large() }))).toBe(256 << 16);
    });

    test("uses one connection for many calls, one after the other", async () => {
      const server = serve(({ body }, response) => json(response, body.length));
      await withClient(server, async (client, { sockets }) => {
        for (let i = 0; i < 200; i++) {
          if (i % 2 === 0) await call(client);
          else await call(client, { body: i % 3 === 0 ? inPieces("x".repeat(100), 30, 100) : small() });
        }
        // undici gives a connection a turn of the event loop before it uses it again, so a call at once takes a second.
        expect(sockets.length).toBeLessThanOrEqual(2);
      });
    });
  });

  describe("an answer", () => {
    test("may come in single bytes", async () => {
      const text =
        'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{"a":[1,"\u00c3\u00a9"]}';
      const server = serveBytes(async (socket, received) => {
        if (!received.endsWith("\r\n\r\n")) return;
        socket.setNoDelay(true);
        for (const byte of text) {
          socket.write(byte, "latin1");
          await sleep(1);
        }
      });
      expect(await withClient(server, (client) => call(client))).toEqual({ a: [1, "é"] });
    });

    test("may come in chunks, with trailers", async () => {
      const server = serveAnswer(
        "HTTP/1.1 200 OK",
        "content-type: application/json",
        "transfer-encoding: chunked",
        "",
        "3;x=y",
        "[1,",
        "2",
        "2]",
        "0",
        "X-Trailer: 1",
        "",
        "",
      );
      expect(await withClient(server, (client) => call(client))).toEqual([1, 2]);
    });

    test("may be without a length, to the end of the connection", async () => {
      const server = serveAnswer("HTTP/1.1 200 OK", "content-type: application/json", "connection: close", "", "[1]");
      expect(await withClient(server, (client) => call(client))).toEqual([1]);
    });

    test("may come after hints", async () => {
      const server = serveAnswer(
        "HTTP/1.1 103 Early Hints",
        "link: </style.css>",
        "",
        "HTTP/1.1 200 OK",
        "content-type: application/json",
        "content-length: 3",
        "",
        "[1]",
      );
      expect(await withClient(server, (client) => call(client))).toEqual([1]);
    });

    test("may be large", async () => {
      const items = Array.from({ length: 300_000 }, (_, i) => i);
      const server = serve((_, response) => json(response, items));
      expect(await withClient(server, (client) => call(client))).toHaveLength(300_000);
    });

    test.each(["gzip", "br"])("compressed with %s, which wasn't asked for, is read or refused", async (encoding) => {
      const body = gzipSync(JSON.stringify([1, "x".repeat(1000)]));
      const server = serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding });
        response.end(body);
      });
      const work = withClient(server, (client) => call(client));
      if (!isUndici && encoding === "gzip") expect(await work).toEqual([1, "x".repeat(1000)]);
      else if (isUndici) expect(await failureOf(() => work)).toEqual(tesseractError("MALFORMED_RESPONSE", encoding));
      else expect((await failureOf(() => work)).code).toMatch(/MALFORMED_RESPONSE|CONNECTION_LOST/);
    });

    test.each<[string, readonly string[], string]>([
      ["a page", ["HTTP/1.1 200 OK", "content-type: text/html", "content-length: 6", "", "<html>"], "text/html"],
      ["JSON as text", ["HTTP/1.1 200 OK", "content-type: text/plain", "content-length: 3", "", "[1]"], "text/plain"],
      ["no content", ["HTTP/1.1 204 No Content", "", ""], "too early"],
      ["nothing", ["HTTP/1.1 200 OK", "content-type: application/json", "content-length: 0", "", ""], "too early"],
    ])("that is %s is malformed", async (_, lines, words) => {
      expect(await failureFrom(serveAnswer(...lines))).toEqual(tesseractError("MALFORMED_RESPONSE", words));
    });

    test("that redirects isn't followed", async () => {
      const paths: string[] = [];
      const server = serve(({ url }, response) => {
        paths.push(url);
        response.writeHead(307, { location: "/elsewhere" }).end();
      });
      const error = await failureFrom(server, { body: small() });
      expect(error).toEqual(tesseractError("SERVER_ERROR", "307"));
      expect(error.status).toBe(307);
      expect(paths).toEqual(["/apply"]);
    });

    test.each<[string, readonly string[]]>([
      ["after its head", ["HTTP/1.1 200 OK", "content-type: application/json", "content-length: 9", "", ""]],
      ["in its body", ["HTTP/1.1 200 OK", "content-type: application/json", "content-length: 9", "", "[1,2]"]],
      [
        "in its chunks",
        ["HTTP/1.1 200 OK", "content-type: application/json", "transfer-encoding: chunked", "", "5", "[1,2]", ""],
      ],
      [
        "in a chunk",
        ["HTTP/1.1 200 OK", "content-type: application/json", "transfer-encoding: chunked", "", "5", "[1"],
      ],
      ["in an error's body", ["HTTP/1.1 500 No", "content-type: text/plain", "content-length: 9", "", "Inter"]],
    ])("whose connection ends %s is lost", async (_, lines) => {
      let requests = 0;
      const server = serveBytes((socket, text) => {
        if (!text.endsWith("]}}")) return;
        requests++;
        socket.end(lines.join("\r\n"));
      });
      const error = await failureFrom(server, { body: small() });
      expect(error).toEqual(tesseractError("CONNECTION_LOST"));
      expect(error.hint).toContain("may have run");
      expect(requests).toBe(1);
    });

    test.each<[string, string]>([
      ["a word", "garbage"],
      ["a line", "garbage\r\n\r\n"],
      ["SSH", "SSH-2.0-OpenSSH_9.6\r\n"],
      ["TLS", "\u0016\u0003\u0001\u0002\u0000"],
      ["of another version", "HTTP/9.9 200 OK\r\n\r\n"],
      ["without a status", "HTTP/1.1 banana\r\n\r\n"],
      ["without a length", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"],
      ["without chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n"],
      ["of two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
      ["without end of its headers", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(100_000)}`],
    ])("that isn't HTTP but %s is an error, and asked for once", async (_, answer) => {
      let requests = 0;
      const server = serveBytes((socket, text) => {
        if (!text.endsWith("]}}")) return;
        requests++;
        socket.end(answer, "latin1");
      });
      const { code } = await failureFrom(server, { body: small() });
      // `fetch` doesn't tell why it failed.
      expect(code).toMatch(
        isUndici ? /MALFORMED_RESPONSE|CONNECTION_LOST/ : /CONNECTION_FAILED|CONNECTION_LOST|MALFORMED_RESPONSE/,
      );
      expect(requests).toBe(1);
    });

    test("larger than allowed ends the connection, as soon as it is announced", async () => {
      const server = serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000000" });
        response.write("[");
      });
      await withClient(server, async (client, { ended }) => {
        const error = await failureOf(() => call(client, { maxBytes: 1000 }));
        expect(error).toEqual(tesseractError("RESPONSE_TOO_LARGE", "1000 bytes"));
        await ended();
      });
    });

    test("larger than allowed ends the connection, as soon as that much has come", async () => {
      const server = serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write("[");
        const timer = setInterval(() => response.write("1,".repeat(1000)), 1);
        response.on("close", () => clearInterval(timer));
      });
      await withClient(server, async (client, { ended }) => {
        expect(await failureOf(() => call(client, { maxBytes: 100_000 }))).toEqual(
          tesseractError("RESPONSE_TOO_LARGE"),
        );
        await ended();
      });
    });

    test("that isn't JSON ends the connection at once", async () => {
      const server = serve((_, response) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.write("[1, nonsense, ");
      });
      await withClient(server, async (client, { ended }) => {
        expect(await failureOf(() => call(client))).toEqual(tesseractError("MALFORMED_RESPONSE", "nonsense", "byte 4"));
        await ended();
      });
    });

    test("that says more than it announced doesn't harm the next", async () => {
      let requests = 0;
      const server = serveBytes((socket, text) => {
        if (!text.endsWith("\r\n\r\n")) return;
        requests++;
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n[1]more");
      });
      await withClient(server, async (client) => {
        // Whether the surplus is seen in time to spoil its own answer is left open; the next has its own connection.
        await call(client).catch(() => {});
        await sleep(20);
        await call(client).catch(() => {});
      });
      expect(requests).toBeGreaterThanOrEqual(2);
    });

    test("that comes before the request is complete is the call's result", async () => {
      const server = serveUnread((_, response) => {
        response.writeHead(413, { "content-type": "application/json", connection: "close" });
        response.end('{"detail":"too large"}');
      });
      const codes = new Set<string>();
      for (let i = 0; i < 5; i++) {
        const error = await failureFrom(
          i === 0
            ? server
            : serveUnread((_, response) => {
                response.writeHead(413, { "content-type": "application/json", connection: "close" });
                response.end('{"detail":"too large"}');
              }),
          { body: large() },
        );
        codes.add(`${error.code} ${error.status}`);
      }
      expect([...codes]).toEqual(["SERVER_ERROR 413"]);
    });
  });

  describe("a connection", () => {
    test("that the server gives up while it is idle does no harm", async () => {
      const bodies: string[] = [];
      const server = serveBytes((socket, text) => {
        // Each connection is good for one answer, although it says nothing of the kind.
        if (!/\r\n\r\n(\{.*\}\})$/s.test(text)) return;
        bodies.push(text);
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n[1]");
        socket.end();
      });
      await withClient(server, async (client) => {
        for (let i = 0; i < 60; i++) {
          // As soon as possible, in the next turns, and when the end has surely come.
          if (i % 4 === 1) await new Promise(setImmediate);
          if (i % 4 > 1) await sleep((i % 4) * 2);
          if (isUndici || i % 4 > 1) expect(await call(client, { body: small() })).toEqual([1]);
          else await call(client, { body: small() }).catch(() => {});
        }
      });
      if (isUndici) expect(bodies).toHaveLength(60);
    });

    test.each<[string, () => RequestBody]>([
      ["small", small],
      ["in pieces", () => inPieces("x".repeat(5000), 100, 5000)],
      ["of unknown length", () => inPieces("x".repeat(5000), 100)],
      ["large", large],
    ])("that ends after a request was read, %s, never gets it again", async (_, body) => {
      for (const reused of [false, true]) {
        let requests = 0;
        const server = serve(({ method, socket }, response) => {
          if (method === "GET") return json(response, "ok");
          requests++;
          if (requests % 2 === 0) socket.destroy();
          else socket.end();
        });
        await withClient(server, async (client) => {
          for (let i = 1; i <= 2; i++) {
            if (reused) await call(client);
            const error = await failureOf(() => call(client, { body: body() }));
            if (isUndici) expect(error).toEqual(tesseractError("CONNECTION_LOST", "before it answered"));
            else expect(error.code).toMatch(/CONNECTION_FAILED|CONNECTION_LOST/);
            expect(requests).toBe(i);
          }
        });
      }
    });

    test("that always ends gets a GET twice at most", async () => {
      let requests = 0;
      const server = serve(({ socket }) => {
        requests++;
        socket.destroy();
      });
      const { code } = await failureFrom(server);
      expect(code).toMatch(isUndici ? /CONNECTION_LOST/ : /CONNECTION_FAILED|CONNECTION_LOST/);
      expect(requests).toBeGreaterThanOrEqual(1);
      expect(requests).toBeLessThanOrEqual(2);
    });

    test("that can't be made is told", async () => {
      const client = create({ origin: await unusedOrigin(), connections: 1 });
      for (const body of [undefined, small(), large()]) {
        const error = await failureOf(() => call(client, body === undefined ? {} : { body }));
        expect(error).toEqual(tesseractError("CONNECTION_FAILED", "127.0.0.1"));
        expect(error.hint).toContain("being served");
        expect(error.cause).toBeInstanceOf(Error);
      }
      await client.close();
    });

    test("to a name that doesn't exist can't be made", async () => {
      const client = create({ origin: "http://no-such-host.invalid", connections: 1 });
      expect(await failureOf(() => call(client))).toEqual(tesseractError("CONNECTION_FAILED", "no-such-host.invalid"));
      await client.close();
    });

    // `fetch` keeps its connections to itself.
    if (isUndici)
      test("isn't opened beyond the limit; more calls wait", async () => {
        let most = 0;
        let now = 0;
        let allThere = (): void => {};
        const three = new Promise<void>((resolve) => {
          allThere = resolve;
        });
        const server = serve(async (_, response) => {
          most = Math.max(most, ++now);
          if (now === 3) allThere();
          await three;
          await sleep(5);
          now--;
          json(response, 1);
        });
        await withClient(
          server,
          async (client, { sockets }) => {
            await Promise.all(Array.from({ length: 20 }, () => call(client, { body: small() })));
            expect(sockets).toHaveLength(3);
            expect(most).toBe(3);
          },
          3,
        );
      });
  });

  describe("giving up", () => {
    const reason = new TesseractError("ABORTED", "enough");

    test("before the call sends nothing", async () => {
      let requests = 0;
      const server = serve((_, response) => {
        requests++;
        json(response, 1);
      });
      await withClient(server, async (client) => {
        await expect(call(client, { body: small(), signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
        expect(await call(client)).toBe(1);
      });
      expect(requests).toBe(1);
    });

    test.each<[string, (server: { arrived: () => void }) => Promise<TestServer>]>([
      ["while the server computes", ({ arrived }) => serve(arrived)],
      [
        "while the request is being sent",
        ({ arrived }) =>
          serveUnread((incoming) => {
            incoming.pause();
            arrived();
            // Only who reads sees the end.
            setTimeout(() => incoming.resume(), 50);
          }),
      ],
      [
        "while the answer arrives",
        ({ arrived }) =>
          serve((_, response) => {
            response.writeHead(200, { "content-type": "application/json" });
            response.write("[1,");
            setTimeout(arrived, 10);
          }),
      ],
    ])("%s ends the call at once, and its connection", async (when, start) => {
      const controller = new AbortController();
      let aborted = 0;
      const arrived = (): void => {
        aborted = performance.now();
        controller.abort(reason);
      };
      await withClient(start({ arrived }), async (client, { ended }) => {
        const body = when.includes("sent") ? large() : small();
        await expect(call(client, { body, signal: controller.signal })).rejects.toBe(reason);
        expect(performance.now() - aborted).toBeLessThan(30_000);
        await ended();
      });
    });

    test("one call leaves the others alone", async () => {
      const controller = new AbortController();
      const server = serve(async ({ url }, response) => {
        if (url === "/stuck") return controller.abort(reason);
        await sleep(20);
        json(response, url);
      });
      await withClient(server, async (client) => {
        const others = [1, 2, 3].map((i) => call(client, { path: `/${i}`, body: small() }));
        await expect(call(client, { path: "/stuck", body: small(), signal: controller.signal })).rejects.toBe(reason);
        expect(await Promise.all(others)).toEqual(["/1", "/2", "/3"]);
      });
    });

    test("a call that is over does nothing", async () => {
      const controller = new AbortController();
      const server = serve((_, response) => json(response, 1));
      await withClient(server, async (client) => {
        expect(await call(client, { signal: controller.signal })).toBe(1);
        controller.abort(reason);
        expect(await call(client)).toBe(1);
      });
    });

    test("the client ends its calls in flight, and admits no more", async () => {
      let arrived = 0;
      let all: () => void = () => {};
      const waiting = new Promise<void>((resolve) => {
        all = resolve;
      });
      await using server = await serve(() => {
        if (++arrived === 2) all();
      });
      const client = create({ origin: server.origin, connections: 2 });
      // The third waits for a connection.
      const calls = [call(client, { body: small() }), call(client), ...(isUndici ? [call(client)] : [])];
      const failures = Promise.all(calls.map((work) => failureOf(() => work)));
      await waiting;
      await client.close();
      for (const error of await failures) expect(error).toEqual(tesseractError("CLOSED"));
      await server.ended(2);
      expect(await failureOf(() => call(client))).toEqual(tesseractError("CLOSED"));
    });
  });

  describe("a body that fails", () => {
    const source = (chunks: TextSource["chunks"], byteLength?: number): RequestBody =>
      JsonBody.of([{ as: "string", chunks, ...(byteLength === undefined ? {} : { byteLength }) } satisfies TextSource]);
    const thrown = new TesseractError("FILE_ERROR", "the source broke");
    async function* breaking(error: Error): AsyncGenerator<Uint8Array> {
      yield utf8("x".repeat(100_000));
      await sleep(1);
      throw error;
    }

    test("ends the call with its error, and the request is never complete nor sent again", async () => {
      for (const [error, code] of [
        [thrown, "FILE_ERROR"],
        [new RangeError("the source broke"), "TRANSPORT_UNUSABLE"],
        [Object.assign(new Error("the source broke"), { code: "ECONNRESET" }), "TRANSPORT_UNUSABLE"],
      ] as const) {
        let asked = 0;
        let requests = 0;
        const server = serve((_, response) => {
          requests++;
          json(response, 1);
        });
        await withClient(server, async (client) => {
          const body = source(() => {
            asked++;
            return breaking(error);
          });
          expect(await failureOf(() => call(client, { body }))).toEqual(tesseractError(code, "the source broke"));
          expect(await call(client)).toBe(1);
        });
        expect([asked, requests]).toEqual([1, 1]);
      }
    });

    // `fetch` finds out the length by itself.
    if (isUndici)
      test.each([
        [1000, 1001],
        [1000, 999],
        [300_000, 300_001],
        [300_000, 299_999],
        [10, 0],
      ])("of %i bytes that announces %i is the caller's mistake, and isn't sent again", async (length, announced) => {
        let asked = 0;
        let requests = 0;
        const server = serve((_, response) => {
          requests++;
          json(response, 1);
        });
        await withClient(server, async (client) => {
          async function* chunks(): AsyncGenerator<Uint8Array> {
            asked++;
            yield* pieces(utf8("x".repeat(length)), 1 << 16);
          }
          const body = source(chunks, announced);
          const error = await failureOf(() => call(client, { body }));
          expect(error).toEqual(tesseractError("INVALID_ARGUMENT"));
          expect(error.hint).toContain("byteLength");
        });
        expect(asked).toBeLessThanOrEqual(2);
        expect(requests).toBe(0);
      });
  });
});
