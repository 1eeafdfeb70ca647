import { describe, expect, test, vi } from "vitest";
import type { Backend } from "../../src/backend.js";
import type { TesseractError } from "../../src/errors.js";
import { backendFromUrl, type FromUrlOptions, fromUrl } from "../../src/from-url.js";
import { Tesseract } from "../../src/tesseract.js";
import { numberedHost } from "../message/transports.js";
import { failureOf, tesseractError } from "../support.js";
import { json, openapi, type ReceivedRequest, serve, serveAnswer, type TestServer, unusedOrigin } from "./servers.js";

const offer = openapi({ "x-supported-output-formats": ["json+numbered"] });
const options = (more: Partial<FromUrlOptions> = {}): FromUrlOptions => ({ transports: [numberedHost()], ...more });
const refusal = (url: string | URL, more?: Partial<FromUrlOptions>): Promise<TesseractError> =>
  failureOf(() => fromUrl(url, options(more)));

async function refusalBy(starting: Promise<TestServer>, more?: Partial<FromUrlOptions>): Promise<TesseractError> {
  await using server = await starting;
  return await refusal(server.origin, more);
}

describe("a URL", () => {
  test.each([
    ["localhost:8000", "has no scheme", 'Did you mean "http://localhost:8000"?'],
    ["127.0.0.1", "has no scheme", 'Did you mean "http://127.0.0.1"?'],
    ["heat.example/path", "has no scheme", "http://heat.example/path"],
    ["//localhost", "has no scheme", "http://"],
    ["", "has no scheme", "http://"],
    ["garbage", "has no scheme", "http://garbage"],
    ["http:/localhost", "has no scheme", "http://"],
    ["http://", "is no URL", "http://localhost:8000"],
    ["http://a b", "is no URL", "http://localhost:8000"],
    ["http://localhost:99999", "is no URL", "http://localhost:8000"],
    ["http://[::1", "is no URL", "http://localhost:8000"],
    ["ftp://localhost", 'the scheme "ftp:"', "http: or https:"],
    ["file:///etc/passwd", 'the scheme "file:"', "http: or https:"],
    ["ws://localhost:8000", 'the scheme "ws:"', "http: or https:"],
    ["http://localhost:8000/heat", '"/heat"', '{ basePath: "/heat" }'],
    ["http://localhost:8000/heat/apply", '"/heat/apply"', "basePath"],
    ["http://localhost:8000/?x=1", '"/?x=1"', 'Give "http://localhost:8000"'],
    ["http://localhost:8000/#x", '"/#x"', 'Give "http://localhost:8000"'],
  ])("%j is refused with a way out", async (url, problem, hint) => {
    const error = await refusal(url);
    expect(error).toEqual(tesseractError("INVALID_URL", problem));
    expect(error.hint).toContain(hint);
  });

  test.each(["http://me:secret@localhost:8000", "http://me@localhost", "https://:secret@localhost/heat"])(
    "%j is refused, and its password isn't repeated",
    async (url) => {
      const error = await refusal(url);
      expect(error).toEqual(tesseractError("INVALID_URL", "user name or password"));
      expect(error.hint).toContain("authorization");
      expect(`${error.message} ${error.hint} ${error.cause}`).not.toContain("secret");
    },
  );

  test.each(["http://me:secret@localhost:99999", "me:secret@localhost:8000", "ftp://me:secret@localhost"])(
    "%j is refused for another reason, and its password isn't repeated either",
    async (url) => {
      const error = await refusal(url);
      expect(error).toEqual(tesseractError("INVALID_URL"));
      expect(`${error.message} ${error.hint} ${error.cause}`).not.toContain("secret");
    },
  );

  test("may be an object, end with a slash, and have capitals", async () => {
    await using server = await serve((_, response) => json(response, offer));
    for (const url of [
      server.origin,
      `${server.origin}/`,
      new URL(server.origin),
      server.origin.replace("http", "HTTP"),
    ]) {
      await using tess = await fromUrl(url, options());
      expect(tess.availableEndpoints).toContain("apply");
    }
  });
});

describe("options", () => {
  test("a base path is put before every route", async () => {
    const urls: string[] = [];
    await using server = await serve(({ url }, response) => {
      urls.push(url);
      json(response, url.endsWith("openapi.json") ? offer : { status: "ok" });
    });
    for (const basePath of ["/heat", "/heat/", "/a/b%20c", "/", ""]) {
      await using tess = await fromUrl(server.origin, options({ basePath }));
      await tess.health();
    }
    expect(urls).toEqual(
      ["/heat", "/heat", "/a/b%20c", "", ""].flatMap((path) => [`${path}/openapi.json`, `${path}/health`]),
    );
  });

  test.each(["heat", "/heat?x", "/he at", "/heat#", "http://localhost/heat", "/a\nb"])(
    "the base path %j is refused",
    async (basePath) => {
      const error = await refusal("http://localhost:8000", { basePath });
      expect(error).toEqual(tesseractError("INVALID_ARGUMENT", "basePath"));
      expect(error.hint).toContain("/heat");
    },
  );

  test("headers are sent with every request, and can't replace the client's own", async () => {
    const requests: ReceivedRequest[] = [];
    await using server = await serve((request, response) => {
      requests.push(request);
      json(response, request.url === "/openapi.json" ? offer : {});
    });
    const headers = { Authorization: "Bearer x", "X-Name": "é\tb", Accept: "text/html", "Content-Type": "text/plain" };
    await using tess = await fromUrl(server.origin, options({ headers }));
    await tess.apply({ x: 1 });
    expect(requests.map((request) => request.headers.authorization)).toEqual(["Bearer x", "Bearer x"]);
    expect(requests[1]?.headers).toMatchObject({
      "x-name": "é\tb",
      "content-type": "application/json",
      accept: "application/json+numbered; gpu_transport=none",
    });
  });

  test.each<[string, Record<string, string>]>([
    ["an empty name", { "": "x" }],
    ["a name with a space", { "a b": "x" }],
    ["a name with a colon", { "a:": "x" }],
    ["a value with a line break", { authorization: "secret\r\nx: y" }],
    ["a value with a NUL", { authorization: "secret\0" }],
    ["a value beyond Latin-1", { authorization: "secret €" }],
  ])("a header with %s is refused, and its value isn't repeated", async (_, headers) => {
    const error = await refusal("http://localhost:8000", { headers });
    expect(error).toEqual(tesseractError("INVALID_ARGUMENT", "header"));
    expect(error.message).not.toContain("secret");
  });

  test.each([0, -1, Number.NaN, Number.NEGATIVE_INFINITY])("a timeout of %d is refused", async (timeout) => {
    const error = await refusal("http://localhost:8000", { timeout });
    expect(error).toEqual(tesseractError("INVALID_ARGUMENT", `${timeout}`));
    expect(error.hint).toContain("milliseconds");
  });

  test("a timeout may be longer than timers can be", async () => {
    await using server = await serve((_, response) => json(response, offer));
    for (const timeout of [2 ** 31, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      await using tess = await fromUrl(server.origin, options({ timeout }));
      expect(tess.availableEndpoints).toContain("health");
    }
  });

  test("an encoding that can't be had is refused, and the connection ended", async () => {
    await using server = await serve((_, response) => json(response, offer));
    expect(await refusal(server.origin, { outputFormat: "json" })).toEqual(tesseractError("ENCODING_UNAVAILABLE"));
    expect(await refusal(server.origin, { gpuTransport: "cuda_ipc" })).toEqual(tesseractError("ENCODING_UNAVAILABLE"));
    await server.ended(2);
  });
});

describe("connecting fails", () => {
  test("where nobody listens", async () => {
    const origin = await unusedOrigin();
    const error = await refusal(origin);
    expect(error).toEqual(tesseractError("CONNECTION_FAILED", origin));
    expect(error.hint).toContain("being served");
  });

  test("where the name doesn't exist", async () => {
    expect(await refusal("http://no-such-host.invalid")).toEqual(
      tesseractError("CONNECTION_FAILED", "no-such-host.invalid"),
    );
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["a list", []],
    ["a text", "openapi"],
    ["an object without paths", { openapi: "3.1.0" }],
    ["an object whose paths are no object", { paths: "/apply" }],
  ])("where the OpenAPI document is %s", async (_, document) => {
    const error = await refusalBy(serve((_, response) => json(response, document)));
    expect(error).toEqual(tesseractError("MALFORMED_RESPONSE", "/openapi.json", "no OpenAPI document"));
    expect(error.hint).toContain("Tesseract");
  });

  test("where another kind of server answers", async () => {
    const page = (status: string, body: string): Promise<TestServer> =>
      serveAnswer(`HTTP/1.1 ${status}`, "content-type: text/html", `content-length: ${body.length}`, "", body);
    expect(await refusalBy(page("200 OK", "<html>hello</html>"))).toEqual(
      tesseractError("MALFORMED_RESPONSE", "hello"),
    );
    expect(await refusalBy(page("404 Not Found", "<html>"))).toEqual(tesseractError("ENDPOINT_NOT_FOUND"));
    expect(await refusalBy(page("502 Bad Gateway", "<html>"))).toEqual(tesseractError("SERVER_ERROR", "proxy"));
    expect(await refusalBy(page("401 Unauthorized", ""))).toEqual(tesseractError("SERVER_ERROR", "401"));
  });

  test("where the server ends the connection", async () => {
    expect(await refusalBy(serve(({ socket }) => void socket.destroy()))).toEqual(tesseractError("CONNECTION_LOST"));
  });

  test("where the document is larger than allowed", async () => {
    const server = serve((_, response) => json(response, { ...offer, x: "x".repeat(1000) }));
    expect(await refusalBy(server, { maxResponseBytes: 999 })).toEqual(tesseractError("RESPONSE_TOO_LARGE"));
  });

  test("where it takes too long, or is given up, and then the connection is ended", async () => {
    await using server = await serve(() => {});
    const error = await refusal(server.origin, { timeout: 20 });
    expect(error).toEqual(tesseractError("TIMEOUT", server.origin, "20 ms"));
    const reason = new Error("enough");
    const ending = new AbortController();
    const before = server.sockets.length;
    const given = refusal(server.origin, { signal: ending.signal });
    await vi.waitFor(() => expect(server.sockets.length).toBeGreaterThan(before), { timeout: 30_000 });
    ending.abort();
    expect(await given).toEqual(tesseractError("ABORTED", server.origin));
    const aborted = await refusal(server.origin, { signal: AbortSignal.abort(reason) });
    expect(aborted).toEqual(tesseractError("ABORTED"));
    expect(aborted.cause).toBe(reason);
    await server.ended(server.sockets.length);
    expect(server.sockets.length).toBeLessThanOrEqual(2);
  });
});

describe("a connection", () => {
  test("may have something put around it, and be what a Tesseract stands on", async () => {
    await using server = await serve(({ url }, response) =>
      json(response, url === "/health" ? { status: "ok" } : offer),
    );
    const connection = await backendFromUrl(server.origin, options());
    const routes: string[] = [];
    const call: Backend["call"] = (call) => {
      routes.push(call.route);
      return connection.call(call);
    };
    const tess = new Tesseract(Object.create(connection, { call: { value: call } }));
    expect(await tess.health()).toEqual({ status: "ok" });
    expect(routes).toEqual(["health"]);
    await tess.close();
    expect(await failureOf(() => connection.call({ route: "health", encoding: {} }))).toEqual(tesseractError("CLOSED"));
  });

  test("is refused what a Tesseract would be", async () => {
    await using server = await serve((_, response) => json(response, offer));
    const refused = () => backendFromUrl(server.origin, options({ outputFormat: "json+other" }));
    expect(await failureOf(refused)).toEqual(tesseractError("ENCODING_UNAVAILABLE", "json+other"));
    expect(await failureOf(() => backendFromUrl("localhost", options()))).toEqual(tesseractError("INVALID_URL"));
  });
});
