/** What a server answers, route by route, as the reference does. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { apply, request, serving, tesseractFile } from "./support.js";
import definition from "./tesseracts/work.js";

const json = { "content-type": "application/json" };
const encoded = (buffer: unknown, parts: object = {}) => ({
  object_type: "array",
  shape: [2],
  dtype: "float64",
  data: { buffer, encoding: "base64", ...parts },
});
const base64Of = (...values: number[]): string => Buffer.from(Float64Array.from(values).buffer).toString("base64");

describe("routes", () => {
  test("health says that all is well", async () => {
    const served = await serving(definition);
    const { status, text, headers } = await request(`${served.url}/health`);
    expect([status, text, headers.get("content-type")]).toEqual([200, '{"status":"ok"}', "application/json"]);
  });

  test("health is answered while an endpoint runs", async () => {
    const served = await serving(definition);
    let answered = false;
    const waiting = apply(served, { action: "wait", milliseconds: 3000 }).finally(() => {
      answered = true;
    });
    expect((await request(`${served.url}/health`)).status).toBe(200);
    expect(answered).toBe(false);
    expect((await waiting).status).toBe(200);
  });

  test("what doesn't exist is answered with 404, and another method with 405", async () => {
    const { url } = await serving(definition);
    expect(await request(`${url}/nothing`)).toMatchObject({ status: 404, text: '{"detail":"Not Found"}' });
    expect(await request(`${url}/jacobian`, { method: "POST" })).toMatchObject({ status: 404 });
    expect(await request(`${url}/check_gpu_transport`, { method: "POST" })).toMatchObject({ status: 404 });
    expect(await request(`${url}//health`)).toMatchObject({ status: 404 });
    const wrong = await request(`${url}/apply?x=1`);
    expect([wrong.status, wrong.text, wrong.headers.get("allow")]).toEqual([
      405,
      '{"detail":"Method Not Allowed"}',
      "POST",
    ]);
    expect((await request(`${url}/health`, { method: "POST" })).headers.get("allow")).toBe("GET");
    expect((await request(`${url}/health`, { method: "HEAD" })).status).toBe(405);
  });

  test("a slash too many is redirected", async () => {
    const { url } = await serving(definition);
    const { status, headers } = await request(`${url}/apply/?run_id=1`, { method: "POST" });
    expect([status, headers.get("location")]).toEqual([307, `${url}/apply?run_id=1`]);
  });

  test("the OpenAPI document names the endpoints, and what can be negotiated", async () => {
    const { url } = await serving(definition);
    const { json } = await request(`${url}/openapi.json`);
    expect(json).toMatchObject({
      info: { title: "work", version: "1.2.3" },
      "x-supported-output-formats": ["json", "json+base64", "json+binref"],
      "x-supported-gpu-transports": ["none"],
      "x-supported-compressions": ["none", "lz4"],
    });
    expect(Object.keys((json as { paths: object }).paths).sort()).toEqual(["/apply", "/health"]);
  });

  test("the documentation is one page that loads nothing, and shows names as text", async () => {
    const { url } = await serving(definition);
    const { text, headers } = await request(`${url}/docs`);
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(text).toContain("/apply");
    expect(text).toContain("Does &#60;what&#62; it is asked to.");
    expect(text).not.toMatch(/<script|src=|https?:/);
  });

  test("the endpoint test is there in debug mode only", async () => {
    const spec = {
      endpoint: "apply",
      payload: { inputs: { x: [1, 2] } },
      expected_outputs: { y: [1, 2], ended: "by itself" },
    };
    const init = { method: "POST", headers: json, body: JSON.stringify(spec) };
    const plain = await serving(definition);
    expect((await request(`${plain.url}/test`, init)).status).toBe(404);
    const { url } = await serving(definition, { debug: true });
    expect((await request(`${url}/test`, init)).json).toMatchObject({ status: "passed", endpoint: "apply" });
    expect((await request(`${url}/openapi.json`)).json).toHaveProperty("paths./test");
  });
});

describe("a body", () => {
  test("that is missing, no JSON, or no object is refused at its place", async () => {
    const { url } = await serving(definition);
    const post = async (body: string | undefined, type = "application/json") =>
      (
        await request(`${url}/apply`, {
          method: "POST",
          headers: { "content-type": type },
          ...(body === undefined ? {} : { body }),
        })
      ).json as { detail: { type: string; loc: unknown[] }[] };
    expect(await post(undefined)).toEqual({
      detail: [{ type: "missing", loc: ["body"], msg: "Field required", input: null }],
    });
    expect(await post("null")).toMatchObject({ detail: [{ type: "missing", loc: ["body"] }] });
    expect(await post("{")).toMatchObject({ detail: [{ type: "json_invalid", loc: ["body", 1], input: {} }] });
    expect(await post('{"inputs":}')).toMatchObject({ detail: [{ type: "json_invalid", loc: ["body", 10] }] });
    for (const body of ["[]", '"text"', "1"]) {
      expect(await post(body)).toMatchObject({ detail: [{ type: "model_attributes_type", loc: ["body"] }] });
    }
    for (const type of ["text/plain", "garbage", "application/octet-stream"]) {
      expect(await post('{"inputs":{}}', type)).toMatchObject({
        detail: [{ type: "model_attributes_type", input: '{"inputs":{}}' }],
      });
    }
    expect(await post('{"inputs":{}}', "application/vnd.tesseract+json; charset=utf-8")).toHaveProperty("y");
  });

  test("issues repeat what was found, unless it is large", async () => {
    const served = await serving(definition);
    expect((await apply(served, { x: ["a"], action: "sing" })).json).toMatchObject({
      detail: [
        { type: "literal_error", loc: ["body", "inputs", "action"], input: "sing" },
        { type: "array_non_numeric", loc: ["body", "inputs", "x"], input: ["a"] },
      ],
    });
    const large = (await apply(served, { x: Array.from({ length: 5000 }, () => "a") })).json as { detail: object[] };
    expect(large.detail[0]).not.toHaveProperty("input");
  });

  test("numbers beyond 2^53 keep their digits", async () => {
    const integers = defineTesseract({
      name: "integers",
      inputs: z.object({ x: array("uint64", [null]) }),
      outputs: z.object({ x: array("uint64", [null]) }),
      apply: ({ x }) => ({ x }),
    });
    const served = await serving(integers);
    const body = '{"inputs":{"x":[18446744073709551615,9007199254740993]}}';
    const { text } = await request(`${served.url}/apply`, { method: "POST", headers: json, body });
    expect(text).toContain(
      Buffer.from(BigUint64Array.of(18446744073709551615n, 9007199254740993n).buffer).toString("base64"),
    );
  });

  test("arrays come in every encoding", async () => {
    const served = await serving(definition);
    mkdirSync(join(served.inputPath, "sub"));
    writeFileSync(join(served.inputPath, "sub", "x.bin"), Buffer.from(Float64Array.of(0, 3, 4).buffer));
    for (const [x, values] of [
      [encoded(base64Of(1, 2)), [1, 2]],
      [encoded("sub/x.bin:8", { encoding: "binref" }), [3, 4]],
      [encoded([5, 6], { encoding: "json" }), [5, 6]],
      [
        [7, 8],
        [7, 8],
      ],
    ] as const) {
      expect((await apply(served, { x })).json).toMatchObject({ y: { data: { buffer: values } } });
    }
  });

  test("what can't be decoded is refused at its place, and the file that it names isn't read", async () => {
    const served = await serving(definition);
    writeFileSync(join(served.inputPath, "x.bin"), new Uint8Array(8));
    for (const [buffer, encoding] of [
      ["AAAA", "base64"],
      ["not base64!", "base64"],
      ["x".repeat(100_000), "base64"],
      ["../../../../etc/passwd", "binref"],
      ["/etc/passwd", "binref"],
      ["file:///etc/passwd", "binref"],
      ["x.bin", "binref"],
      ["missing.bin", "binref"],
      [`00000000-0000-0000-0000-000000000000:${"A".repeat(88)}:0:16`, "cuda_ipc"],
    ]) {
      const { status, json } = await apply(served, { x: encoded(buffer, { encoding }) });
      expect([status, json]).toMatchObject([
        422,
        { detail: [{ type: "array_decode_error", loc: ["body", "inputs", "x"] }] },
      ]);
      expect(JSON.stringify(json)).not.toContain("root:");
    }
  });

  test("a text that looks like an array's buffer stays one where no array is wanted", async () => {
    const free = defineTesseract({
      name: "free",
      inputs: z.object({ note: z.record(z.string(), z.any()) }),
      outputs: z.object({ note: z.string() }),
      apply: ({ note }) => ({ note: JSON.stringify(note) }),
    });
    const served = await serving(free);
    for (const [size, buffer] of [
      [2, base64Of(1)],
      [60, base64Of(...Array.from({ length: 60 }, Math.random))],
      [20_000, base64Of(...Array.from({ length: 20_000 }, Math.random))],
      [2, "é".repeat(50_000)],
    ] as const) {
      const note = { ...encoded(buffer), shape: [size] };
      const { status, json } = await apply(served, { note });
      expect([status, json]).toMatchObject([200, {}]);
      expect(JSON.parse((json as { note: string }).note)).toEqual(note);
    }
    const contradictory = encoded("A".repeat(200_000));
    expect(await apply(served, { note: contradictory })).toMatchObject({
      status: 422,
      json: { detail: [{ type: "array_decode_error", loc: ["body", "inputs", "note", "data", "buffer"] }] },
    });
  });
});

describe("an answer", () => {
  test("has the encoding that was asked for, and says which it is", async () => {
    const served = await serving(definition);
    for (const [accept, type, data] of [
      ["application/json", "application/json", { encoding: "json", buffer: [1, 2] }],
      ["application/json+base64", "application/json+base64", { encoding: "base64", buffer: base64Of(1, 2) }],
      ["application/json+base64; compression=lz4", "application/json+base64", { compression: "lz4" }],
      ["application/json+binref", "application/json+binref", { encoding: "binref" }],
      ["*/*", "application/json", { encoding: "json" }],
      ["text/html, application/json+base64;q=0.5", "application/json+base64", { encoding: "base64" }],
      ["application/json;q=0.1, application/json+base64", "application/json+base64", { encoding: "base64" }],
      ["application/json;q=0, application/json+base64;q=nonsense", "application/json", { encoding: "json" }],
    ] as const) {
      const { headers, text } = await apply(served, { x: [1, 2] }, { headers: { accept } });
      expect(headers.get("content-type")).toBe(type);
      expect(JSON.parse(text)).toMatchObject({ y: { object_type: "array", shape: [2], dtype: "float64", data } });
    }
  });

  test("is 406 where none can be produced, with what can", async () => {
    const served = await serving(definition);
    for (const accept of [
      "application/json+x",
      "application/json; gpu_transport=cuda_ipc",
      "application/json; compression=zip",
      ",",
    ]) {
      const { status, json } = await apply(served, {}, { headers: { accept } });
      expect([status, json]).toEqual([
        406,
        {
          detail: {
            message: `Cannot produce any encoding accepted by '${accept}'`,
            available_formats: ["json", "json+base64", "json+binref"],
            available_gpu_transports: ["none"],
            available_compressions: ["none", "lz4"],
          },
        },
      ]);
    }
  });

  test("is told of a wish that can't be met only where the request is valid, and the endpoint isn't called", async () => {
    const served = await serving(definition);
    const accept = "application/paper";
    const x = { shape: [2], dtype: "float64", data: { encoding: "base64", buffer: "AAAA" } };
    for (const inputs of [{ x: "no" }, { x }, { unknown: 1 }]) {
      expect((await apply(served, inputs, { headers: { accept } })).status).toBe(422);
    }
    expect((await apply(served, { action: "throw" }, { headers: { accept } })).status).toBe(406);
  });

  test("without a wish has what the server was told", async () => {
    const served = await serving(definition, { outputFormat: "json+base64", compression: "lz4" });
    const { headers, text } = await apply(served, { x: [1] }, { headers: { accept: "*/*" } });
    expect(headers.get("content-type")).toBe("application/json+base64");
    expect(JSON.parse(text)).toMatchObject({ y: { data: { encoding: "base64", compression: "lz4" } } });
  });

  test("that is large comes in pieces, whole", async () => {
    const served = await serving(definition);
    const x = Float64Array.from({ length: 300_000 }, (_, index) => index / 7);
    const { text } = await apply(
      served,
      { x: { ...encoded(Buffer.from(x.buffer).toString("base64")), shape: [300_000] } },
      { headers: { accept: "application/json+base64" } },
    );
    const { y } = JSON.parse(text) as { y: { data: { buffer: string } } };
    expect(Buffer.from(y.data.buffer, "base64").equals(Buffer.from(x.buffer))).toBe(true);
  });

  test("of an endpoint that fails is 500, and tells why in debug mode only", async () => {
    const errors = vi.spyOn(console, "error").mockImplementation(() => {});
    const plain = await serving(definition);
    expect(await apply(plain, { action: "throw" })).toMatchObject({ status: 500, text: "Internal Server Error" });
    expect(await apply(plain, { action: "wrong" })).toMatchObject({ status: 500, text: "Internal Server Error" });
    expect(errors).toHaveBeenCalledTimes(2);
    const debug = await serving(definition, { debug: true });
    const { status, text, headers } = await apply(debug, { action: "throw" });
    expect([status, headers.get("content-type")]).toEqual([500, "text/plain; charset=utf-8"]);
    expect(text).toContain("RangeError: asked to fail");
    expect((await apply(plain, {})).status).toBe(200);
    errors.mockRestore();
  });
});

describe("a run", () => {
  test("leaves no folder if nothing is written", async () => {
    const served = await serving(definition);
    await apply(served, { x: [1] });
    expect(existsSync(served.outputPath)).toBe(false);
  });

  test("has its log, its files and its arrays in a folder of its name", async () => {
    const served = await serving(definition);
    await apply(served, { action: "log" }, { query: "?run_id=first" });
    expect(readFileSync(join(served.outputPath, "run_first/logs/tesseract.log"), "utf8")).toBe("one line\nanother\n");
    await apply(served, { action: "write" }, { query: "?run_id=a&run_id=second" });
    expect(readFileSync(join(served.outputPath, "run_second/result.txt"), "utf8")).toBe("second");
    const { text } = await apply(
      served,
      { x: [1] },
      { query: "?run_id=3%20%C3%A9", headers: { accept: "application/json+binref" } },
    );
    const { y } = JSON.parse(text) as { y: { data: { buffer: string } } };
    expect(y.data.buffer).toMatch(/^run_3 é\/[0-9a-f-]{36}\.bin:0$/);
    expect(readdirSync(join(served.outputPath, "run_3 é"))).toHaveLength(1);
  });

  test("has what its endpoint prints in its log, whatever other runs print meanwhile", async () => {
    for (const tesseract of [definition, tesseractFile("threaded")]) {
      const served = await serving(tesseract, { threads: 2 });
      const ids = ["one", "two", "three"];
      await Promise.all(
        ids.map((id) => apply(served, { action: "print", milliseconds: 20 }, { query: `?run_id=${id}` })),
      );
      for (const id of ids) {
        const log = readFileSync(join(served.outputPath, `run_${id}/logs/tesseract.log`), "utf8");
        expect(log).toBe(`${id} prints\n${id} prints again\n`);
      }
    }
  });

  test("has a name of its own unless it is given one", async () => {
    const served = await serving(definition);
    await Promise.all([apply(served, { action: "write" }), apply(served, { action: "write" })]);
    const folders = readdirSync(served.outputPath);
    expect(folders).toHaveLength(2);
    for (const folder of folders) expect(folder).toMatch(/^run_[0-9a-f-]{36}$/);
  });

  test("can't be named so that it leaves the output directory", async () => {
    const served = await serving(definition);
    for (const id of ["../x", "a/b", "a\\b", "\0", "x".repeat(300)]) {
      const query = `?run_id=${encodeURIComponent(id)}`;
      const { status, json } = await apply(served, { action: "write" }, { query });
      expect([status, json]).toMatchObject([422, { detail: [{ loc: ["query", "run_id"] }] }]);
    }
    expect(existsSync(served.outputPath)).toBe(false);
  });
});
