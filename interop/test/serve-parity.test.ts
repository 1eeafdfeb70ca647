// The same Tesseracts served by Python and by TypeScript: equal answers over HTTP, and equal types and places of errors.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServedTesseract, serve } from "@tesseract-ts/serve";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Outcome, outcomeOf, twins } from "../../packages/inprocess/test/parity/outcomes.js";
import { type FixtureName, payloads, toJson } from "../../packages/inprocess/test/parity/payloads.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const fixtures = Object.keys(twins) as readonly FixtureName[];

const theirs = sharedRuntimes({
  arrays: { fixture: "arrays" },
  limits: { fixture: "limits" },
  plain: { fixture: "plain" },
  trees: { fixture: "trees" },
  vectors: { fixture: "vectors" },
});

const ours = new Map<string, ServedTesseract>();
let folder: string;
beforeAll(async () => {
  // Endpoints that are to fail do.
  vi.spyOn(console, "error").mockImplementation(() => {});
  folder = await mkdtemp(join(tmpdir(), "tesseract-serve-parity-"));
  for (const name of fixtures) {
    ours.set(name, await serve(twins[name], { port: 0, inputPath: folder, outputPath: join(folder, name) }));
  }
});
afterAll(async () => {
  vi.restoreAllMocks();
  await Promise.all([...ours.values()].map((served) => served.close()));
  await rm(folder, { recursive: true, force: true });
});

const urlOf = (name: FixtureName): string => ours.get(name)?.url ?? "";

interface HttpAnswer {
  readonly status: number;
  readonly type: string | null;
  readonly allow: string | null;
  readonly body: unknown;
}

/** Over a connection of its own: the reference closes one some time after a call on it has failed. */
async function send(url: string, path: string, init: RequestInit): Promise<HttpAnswer> {
  const headers = { ...init.headers, connection: "close" };
  const response = await fetch(url + path, { redirect: "manual", ...init, headers });
  const text = await response.text();
  const type = response.headers.get("content-type");
  const body = type?.includes("json") ? JSON.parse(text) : text;
  return { status: response.status, type, allow: response.headers.get("allow"), body };
}

const post = (body: string, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  body,
  headers: { "content-type": "application/json", ...headers },
});

describeWithRuntime("1.15", "a Tesseract served by Python and its twin served by TypeScript", () => {
  describe("answer each payload alike", () => {
    const outcome = async (url: string, route: string, body: unknown): Promise<Outcome> => {
      const { status, body: answer } = await send(
        url,
        `/${route}`,
        post(toJson(body), { accept: "application/json+base64" }),
      );
      return outcomeOf(status, answer);
    };
    test.each(
      payloads.map((payload, index) => [index, payload.fixture, payload.route, toJson(payload.body), payload] as const),
    )("%i: %s %s %s", async (_index, fixture, route, _body, payload) => {
      const expected = await outcome(theirs[fixture]().url, route, payload.body);
      expect(await outcome(urlOf(fixture), route, payload.body)).toEqual(expected);
    });
  });

  // JavaScript can't tell 1.0 from 1 once it is read.
  test.each([
    '{"int64":[1.0]}',
    '{"int64":[1,2.0]}',
    '{"int64":[[1],[2.0]]}',
    '{"int64":[1e0]}',
    '{"int64":[1E2]}',
    '{"int64":[-0.0]}',
    '{"int64":[1.5]}',
    '{"int64":[1,2]}',
    '{"int64":1.0}',
    '{"int64":1e2}',
    '{"int64":1}',
    '{"uint8":1.0,"int8":1}',
    '{"int8":1,"uint8":1.0}',
    '{"bool":[1.0]}',
    '{"float32":[1.0],"int32":[1]}',
    '{"complex64":[1.0]}',
    '{"columns":[[1,2,3],[4,5,6.0]]}',
    '{"int64":{"object_type":"array","shape":[2],"dtype":"int64","data":{"encoding":"json","buffer":[1.0,2]}}}',
    '{"int64":{"object_type":"array","shape":[],"dtype":"int64","data":{"encoding":"json","buffer":1.0}}}',
    '{"float64":{"object_type":"array","shape":[2],"dtype":"int64","data":{"encoding":"json","buffer":[1.0,2]}}}',
  ])("take %s alike", async (inputs) => {
    const answer = async (url: string) => {
      const { status, body } = await send(
        url,
        "/apply",
        post(`{"inputs":${inputs}}`, { accept: "application/json+base64" }),
      );
      return outcomeOf(status, body);
    };
    expect(await answer(urlOf("arrays"))).toEqual(await answer(theirs.arrays().url));
  });

  const good = '{"inputs":{"name":"you","a":[1,2],"b":[3,4]}}';

  test.each([
    undefined,
    "*/*",
    "application/*; compression=lz4",
    "application/json",
    "json",
    "APPLICATION/JSON+BASE64",
    'application/json+base64; compression="lz4"',
    "application/json+base64;compression=LZ4",
    "application/json+base64; gpu_transport=none; compression=none",
    "application/json; gpu_transport=cuda_ipc",
    "application/json; gpu_transport=cuda_ipc, application/json+base64;q=0.1",
    "text/html, application/xhtml+xml",
    "it's, application/xml",
    'say "it\'s"',
    "application/json;q=0.2, application/json+base64;q=0.4",
    "application/json;q=zero, application/json+base64;q=0.0001",
    "application/json;q=-1",
    ",",
    " , application/json",
    "",
  ])("negotiate %s alike", async (accept) => {
    const init = post(good, accept === undefined ? { accept: "*/*" } : { accept });
    // Two compressors make two frames of the same bytes.
    const frames = (_key: string, value: unknown) =>
      typeof value === "object" && value !== null && "compression" in value ? { ...value, buffer: "a frame" } : value;
    const answer = async (url: string) => JSON.parse(JSON.stringify(await send(url, "/apply", init), frames));
    expect(await answer(urlOf("plain"))).toEqual(await answer(theirs.plain().url));
  });

  test("refuse a request for an encoding that there isn't only where it is valid", async () => {
    for (const body of ['{"inputs":{"name":1}}', '{"inputs":{"name":"you","a":["a"],"b":[1]}}', good]) {
      const refused = async (url: string) => {
        const { status, body: answer } = await send(url, "/apply", post(body, { accept: "application/paper" }));
        return [status, status === 422 ? outcomeOf(status, answer) : answer];
      };
      expect(await refused(urlOf("plain"))).toEqual(await refused(theirs.plain().url));
    }
  });

  test.each<readonly [string, string, RequestInit]>([
    ["no body", "/apply", { method: "POST" }],
    ["an empty body", "/apply", post("")],
    ["null", "/apply", post("null")],
    ["an unknown path", "/nothing", post("{}")],
    ["an endpoint that isn't there", "/jacobian", post("{}")],
    ["the test endpoint, without debug mode", "/test", post("{}")],
    ["the check, without a GPU transport", "/check_gpu_transport", post("{}")],
    ["GET of an endpoint", "/apply", {}],
    ["POST of health", "/health", post("{}")],
    ["PUT", "/apply", { ...post("{}"), method: "PUT" }],
    ["DELETE", "/health", { method: "DELETE" }],
    ["OPTIONS", "/apply", { method: "OPTIONS" }],
    ["a slash too many", "/apply/", post(good)],
    ["two slashes", "//apply", post(good)],
    ["health", "/health", {}],
    ["health with a query", "/health?x=1", {}],
  ])("treat %s alike", async (_name, path, init) => {
    expect(await send(urlOf("plain"), path, init)).toEqual(await send(theirs.plain().url, path, init));
  });

  test.each([
    ["a text", "text/plain", '{"inputs":{}}'],
    ["bytes", "application/octet-stream", '{"inputs":{}}'],
    ["a type that is none", "garbage", '{"inputs":{}}'],
    ["a list", "application/json", "[]"],
    ["a number", "application/json", "1"],
    ["JSON by another name", "application/vnd.x+json; charset=utf-8", good],
    ["JSON that is cut short", "application/json", "{"],
    ["JSON without a value", "application/json", '{"inputs":}'],
    ["JSON with more behind it", "application/json", "{} {}"],
    ["JSON with a comma too many", "application/json", '{"inputs":{},}'],
  ])("refuse %s at the same place", async (_name, type, body) => {
    const issues = async (url: string) => {
      const { status, body: answer } = await send(url, "/apply", post(body, { "content-type": type }));
      return status === 200 ? answer : [status, outcomeOf(status, answer)];
    };
    expect(await issues(urlOf("plain"))).toEqual(await issues(theirs.plain().url));
  });

  test("advertise the same encodings, and name the same endpoints", async () => {
    for (const name of fixtures) {
      const read = async (url: string) => (await send(url, "/openapi.json", {})).body as Record<string, object>;
      const [here, there] = [await read(urlOf(name)), await read(theirs[name]().url)];
      expect(Object.keys(here.paths ?? {}).sort()).toEqual(Object.keys(there.paths ?? {}).sort());
      const offers = (document: Record<string, unknown>) =>
        Object.entries(document).filter(([key]) => key.startsWith("x-supported-"));
      expect(offers(here)).toEqual(offers(there));
    }
  });
});
