import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { TesseractError } from "../../src/errors.js";
import { Answer, type AnswerOptions } from "../../src/message/answer.js";
import { failureOf, pieces, tesseractError, utf8 } from "../support.js";

interface Response {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

async function read(
  { status = 200, headers = { "content-type": "application/json" }, body = "" }: Response,
  options: Partial<AnswerOptions> = {},
): Promise<unknown> {
  const answer = new Answer({ what: '"apply" at http://heat', maxBytes: 1 << 24, ...options });
  const sink = answer.begin({ status, header: (name) => headers[name] });
  for (const piece of pieces(typeof body === "string" ? utf8(body) : body, 100)) sink.write(piece);
  return answer.end();
}

const failure = (response: Response, options?: Partial<AnswerOptions>): Promise<TesseractError> =>
  failureOf(() => read(response, options));

interface Recorded extends Required<Response> {
  readonly name: string;
  readonly body: string;
}
const recorded = (name: string): Recorded => {
  const file = new URL("../../../../interop/golden/answers/1.15.json", import.meta.url);
  const answers: Recorded[] = JSON.parse(readFileSync(file, "utf8"));
  const found = answers.find((answer) => answer.name === name);
  if (found === undefined) throw new Error(`No answer "${name}" is recorded`);
  return found;
};

describe("an answer of the reference", () => {
  test("is a tree where all went well", async () => {
    expect(await read(recorded("health"))).toEqual({ status: "ok" });
  });

  test("of invalid inputs has each issue with its place", async () => {
    const error = await failure(recorded("invalid body"));
    expect(error).toEqual(
      tesseractError("VALIDATION_FAILED", "body.inputs.x: Could not parse", "body.inputs.zz: Extra"),
    );
    expect(error.status).toBe(422);
    expect(error.issues).toEqual([
      expect.objectContaining({ path: ["body", "inputs", "x"], type: "array_non_numeric", input: "abc", context: {} }),
      { path: ["body", "inputs", "zz"], type: "extra_forbidden", message: "Extra inputs are not permitted", input: 1 },
    ]);
    expect(JSON.parse(error.body ?? "")).toHaveProperty("detail");
  });

  test("of an unknown path, an empty body and a malformed one has issues too", async () => {
    expect((await failure(recorded("unknown path"))).issues.map(({ type }) => type)).toContain("literal_error");
    expect((await failure(recorded("empty body"))).issues).toMatchObject([{ path: ["body"], type: "missing" }]);
    expect((await failure(recorded("malformed body"))).issues).toMatchObject([{ path: ["body", 1], input: {} }]);
  });

  test.each([
    ["unacceptable", "ENCODING_UNAVAILABLE", 406, "application/xml"],
    ["unknown endpoint", "ENDPOINT_NOT_FOUND", 404, "Not Found"],
    ["wrong method", "SERVER_ERROR", 405, "Method Not Allowed"],
    ["not UTF-8", "SERVER_ERROR", 400, "error parsing the body"],
    ["exception", "SERVER_ERROR", 500, "Internal Server Error"],
  ] as const)("%s is %s", async (name, code, status, words) => {
    const error = await failure(recorded(name));
    expect(error).toEqual(tesseractError(code, words, '"apply" at http://heat'));
    expect(error).toMatchObject({ status, body: recorded(name).body });
  });

  test("that can't produce an encoding says what it offers", async () => {
    const { hint } = await failure(recorded("unacceptable"));
    expect(hint).toBe(
      "It offers formats: json, json+base64, json+binref; gpu_transports: none; compressions: none, lz4.",
    );
  });
});

describe("an answer that isn't a Tesseract's", () => {
  const html = "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>";

  test.each<[string, Response, ...string[]]>([
    ["a page", { headers: { "content-type": "text/html" }, body: html }, "text/html", "502 Bad Gateway"],
    ["an empty body of no type", { headers: {}, body: "" }, "too early"],
    ["an empty body of another type", { headers: { "content-type": "text/plain" } }, "an empty body"],
    ["no content", { status: 204, headers: {} }, "too early"],
    ["text that isn't JSON", { body: html }, "isn't JSON", "byte 0"],
    [
      "compressed JSON",
      { headers: { "content-type": "application/json", "content-encoding": "gzip" }, body: "{}" },
      "gzip",
    ],
    ["JSON that is cut short", { body: '{"a":[1,2' }, "ends too early at byte 9"],
    ["JSON that isn't UTF-8", { body: Uint8Array.of(0x22, 0xff, 0x22) }, "isn't UTF-8"],
  ])("is malformed: %s", async (_, response, ...words) => {
    expect(await failure(response)).toEqual(tesseractError("MALFORMED_RESPONSE", ...words));
  });

  test("is a server's error, whatever its form", async () => {
    for (const body of ["", html, "{", "null", "[]", '{"detail":null}', '{"detail":[]}', '{"detail":3}', "\ufffd"]) {
      expect(await failure({ status: 502, body })).toEqual(tesseractError("SERVER_ERROR", "error 502"));
      expect(await failure({ status: 422, body })).toEqual(tesseractError("VALIDATION_FAILED"));
      expect(await failure({ status: 406, body })).toEqual(tesseractError("ENCODING_UNAVAILABLE"));
      expect(await failure({ status: 404, body })).toEqual(tesseractError("ENDPOINT_NOT_FOUND"));
      expect(await failure({ status: 307, body })).toEqual(tesseractError("SERVER_ERROR", "error 307"));
    }
    expect((await failure({ status: 502, body: html })).message).toContain("an HTML page; is a proxy in between?");
  });

  test("may have any JSON in its detail", async () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    for (const odd of [
      '{"toString":1,"valueOf":null}',
      '[{"toString":1}]',
      deep,
      "null",
      "true",
      "1.5",
      '"x"',
      "{}",
      "[[]]",
    ]) {
      const issue = `{"type":${odd},"loc":${odd},"msg":${odd},"input":${odd},"ctx":${odd}}`;
      for (const detail of [odd, `[${odd}]`, `{"message":${odd},"available_formats":${odd}}`, `[${issue}]`]) {
        const body = `{"detail":${detail}}`;
        expect((await failure({ status: 422, body })).code).toBe("VALIDATION_FAILED");
        expect((await failure({ status: 406, body })).code).toBe("ENCODING_UNAVAILABLE");
        expect((await failure({ status: 500, body })).code).toBe("SERVER_ERROR");
      }
    }
  });

  test("says when to try again, where the server does", async () => {
    const waiting = async (after: string): Promise<number | undefined> =>
      (await failure({ status: 503, headers: { "retry-after": after } })).retryAfter;
    expect(await waiting("3")).toBe(3000);
    expect(await waiting("0")).toBe(0);
    expect(await waiting("Sun, 06 Nov 1994 08:49:37 GMT")).toBe(0);
    const later = await waiting(new Date(Date.now() + 3_600_000).toUTCString());
    expect(later).toBeGreaterThan(3_000_000);
    expect(later).toBeLessThanOrEqual(3_600_000);
    for (const nonsense of ["", "-1", "1.5", "soon", "9".repeat(400)]) expect(await waiting(nonsense)).toBe(undefined);
    expect(await failure({ status: 503 })).not.toHaveProperty("retryAfter");
  });

  test("is quoted only in its beginning", async () => {
    const error = await failure({ status: 500, body: "x".repeat(3 << 20) });
    expect(error.message.length).toBeLessThan(1000);
    expect(error.body).toBe("x".repeat(1 << 20));
  });
});

describe("an answer's size", () => {
  test("is bounded as it arrives, whatever the headers say", async () => {
    const body = `[${"1,".repeat(100)}1]`;
    const limit = { maxBytes: body.length - 1 };
    const headers = { "content-type": "application/json", "content-length": "5" };
    for (const status of [200, 500]) {
      expect(await failure({ status, body }, limit)).toEqual(tesseractError("RESPONSE_TOO_LARGE", '"apply"'));
      expect(await failure({ status, headers, body }, limit)).toEqual(tesseractError("RESPONSE_TOO_LARGE"));
    }
    expect(await read({ body }, { maxBytes: body.length })).toHaveLength(101);
  });

  test("is refused before its body arrives where it is announced", async () => {
    const headers = { "content-type": "application/json", "content-length": "101" };
    const error = await failure({ headers, body: "{}" }, { maxBytes: 100 });
    expect(error).toEqual(tesseractError("RESPONSE_TOO_LARGE", "100 bytes"));
    expect(error.hint).toContain("maxResponseBytes");
    expect(await read({ headers, body: "{}" }, { maxBytes: 101 })).toEqual({});
  });

  test("that is announced as nonsense is ignored", async () => {
    for (const length of ["", "-1", "1e9", "x", "9, 9"]) {
      const headers = { "content-type": "application/json", "content-length": length };
      expect(await read({ headers, body: "[1]" })).toEqual([1]);
    }
  });
});

describe("an answer's content type", () => {
  test.each([
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON",
    "application/json+base64",
    "application/problem+json",
    "",
  ])("%j is JSON", async (type) => {
    expect(await read({ headers: { "content-type": type }, body: "[1]" })).toEqual([1]);
  });

  test("names the format whose transport takes the buffers", async () => {
    const buffer = "x".repeat(300);
    const body = JSON.stringify({ shape: [1], dtype: "int8", data: { buffer } });
    const formats: string[] = [];
    const openBuffer: AnswerOptions["openBuffer"] = (format) => {
      formats.push(format);
      return () => ({ write: () => {}, end: () => "taken" });
    };
    const headers = { "content-type": "application/json+base64; charset=utf-8" };
    expect(await read({ headers, body }, { openBuffer })).toMatchObject({ data: { buffer: "taken" } });
    expect(formats).toEqual(["json+base64"]);
  });
});

test("an exchange without an answer has lost its connection", async () => {
  const answer = new Answer({ what: "it", maxBytes: 10 });
  expect(await failureOf(() => answer.end())).toEqual(tesseractError("CONNECTION_LOST", "it"));
});
