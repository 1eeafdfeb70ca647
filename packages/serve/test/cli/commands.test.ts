// The commands, on Tesseracts that this process serves.

import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { type ServedTesseract, serve } from "../../src/index.js";
import { cli, squares } from "./support.js";

// Nothing here is about time, and the machine may be busy.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

let folder: string;
let served: ServedTesseract;
let inDebug: ServedTesseract;
let wrong: ServedTesseract;
const others: ServedTesseract[] = [];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-cli-"));
  const outputPath = folder;
  served = await serve(squares(), { port: 0, outputPath });
  inDebug = await serve(squares(), { port: 0, outputPath, debug: true });
  wrong = await serve(squares(2.01), { port: 0, outputPath });
});
afterAll(async () => {
  for (const each of [served, inDebug, wrong, ...others]) await each.close();
  await rm(folder, { recursive: true, force: true });
});

const lines = (text: string): string[] => text.trimEnd().split("\n");

describe("call", () => {
  test("shows what comes out, and nothing else on standard output", async () => {
    const { code, out, err } = await cli(["call", served.url, "apply", '{"x": [1, 2, 3]}']);
    expect({ code, out }).toEqual({ code: 0, out: "y  float64 [3]  min 1  max 9  mean 4.667  1, 4, 9\ncount  3\n" });
    expect(err).toMatch(/^apply took [\d.]+ m?s\n$/);
  });

  test("takes the whole request as well, from a file or standard input", async () => {
    const request = JSON.stringify({ inputs: { x: [2], factor: 3 } });
    await writeFile(join(folder, "request.json"), request);
    const expected = "y  float64 [1]  12\ncount  1\n";
    expect((await cli(["call", served.url, "apply", "@request.json"], { directory: folder })).out).toBe(expected);
    expect((await cli(["call", served.url, "apply", "-"], { input: request })).out).toBe(expected);
  });

  test("takes encoded arrays", async () => {
    const buffer = Buffer.from(Float64Array.of(5).buffer).toString("base64");
    const x = { shape: [1], dtype: "float64", data: { encoding: "base64", buffer } };
    expect((await cli(["call", served.url, "apply", JSON.stringify({ x })])).out).toContain("25");
  });

  test("--json gives all values in one line", async () => {
    const { out, err } = await cli(["call", served.url, "apply", '{"x": [1, 2]}', "--json"]);
    expect(lines(out)).toHaveLength(1);
    expect(JSON.parse(out)).toEqual({
      y: { object_type: "array", shape: [2], dtype: "float64", data: { encoding: "json", buffer: [1, 4] } },
      count: 2,
    });
    expect(err).toBe("");
  });

  test("--out writes the arrays", async () => {
    const { out } = await cli(["call", served.url, "apply", '{"x": [3]}', "--out", "results"], { directory: folder });
    expect(out).toContain("wrote results/y.npy");
    expect((await readFile(join(folder, "results/y.npy"))).readDoubleLE(128)).toBe(9);
  });

  test("a derivative is of all that is differentiable, unless told", async () => {
    const jacobian = await cli(["call", served.url, "jacobian", '{"x": [1, 2]}']);
    expect(jacobian.out).toContain("y.x  float64 [2, 2]");
    const vjp = await cli(["call", served.url, "vjp", '{"inputs": {"x": [1, 2]}, "cotangent_vector": {"y": [1, 1]}}']);
    expect(vjp.out).toBe("x  float64 [2]  min 2  max 4  mean 3  2, 4\n");
    const without = await cli(["call", served.url, "vjp", '{"x": [1, 2]}']);
    expect(without.code).toBe(2);
    expect(without.err).toContain('{"inputs": …, "cotangent_vector": {"y": …}}');
  });

  test("a refused request names each place", async () => {
    const { code, err } = await cli(["call", served.url, "apply", '{"z": 1}']);
    expect(code).toBe(1);
    expect(lines(err).slice(1)).toEqual([
      expect.stringMatching(/^ {2}body\.inputs\.x: /),
      expect.stringMatching(/^ {2}body\.inputs\.z: /),
    ]);
  });

  test("a server that isn't there", async () => {
    const { code, err } = await cli(["call", "http://127.0.0.1:9", "health"]);
    expect(code).toBe(3);
    expect(lines(err)[0]).toMatch(/^tesseract-ts: .*127\.0\.0\.1:9/);
  });

  test("a URL without http:// is no image", async () => {
    const { code, err } = await cli(["call", "localhost:8000", "health"]);
    expect(code).toBe(3);
    expect(err).toContain('Did you mean "http://localhost:8000"?');
  });

  test("Ctrl-C ends a call that is on its way", async () => {
    const slow = defineTesseract({
      name: "slow",
      inputs: z.object({}),
      outputs: z.object({ y: array("float64", []) }),
      apply: (_, { signal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    let called: (() => void) | undefined;
    const calls = new Promise<void>((resolve) => {
      called = resolve;
    });
    const slowly = await serve(slow, {
      port: 0,
      configure: (app) => void app.addHook("onRequest", async ({ url }) => url.startsWith("/apply") && called?.()),
    });
    others.push(slowly);
    const interrupt = new AbortController();
    const calling = cli(["call", slowly.url, "apply", "{}"], { signal: interrupt.signal });
    await calls;
    interrupt.abort("SIGINT");
    expect(await calling).toEqual({ code: 130, out: "", err: "" });
  });
});

describe("openapi and types", () => {
  test("openapi prints the document, in lines or in one", async () => {
    const { out } = await cli(["openapi", served.url]);
    expect(JSON.parse(out)).toMatchObject({ info: { title: "squares" } });
    expect(lines(out).length).toBeGreaterThan(100);
    expect(lines((await cli(["openapi", served.url, "--json"])).out)).toHaveLength(1);
  });

  test("types writes a module that exports the type", async () => {
    const { code, out, err } = await cli(["types", served.url, "--out", "squares.ts"], { directory: folder });
    expect({ code, out, err }).toEqual({ code: 0, out: "", err: "wrote squares.ts\n" });
    const text = await readFile(join(folder, "squares.ts"), "utf8");
    expect(text).toContain("export interface Squares {");
    expect(text).toContain('readonly y: HostArray<"float64">;');
  });

  test("a server that is no Tesseract", async () => {
    const { createServer } = await import("node:http");
    const server = createServer((_, response) => response.setHeader("content-type", "application/json").end("{}"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const { code, err } = await cli(["types", `http://127.0.0.1:${port}`]);
    expect(code).toBe(1);
    expect(err).toContain("is no OpenAPI document");
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("check", () => {
  test("derivatives that are right", async () => {
    const { code, out } = await cli(["check", served.url, '{"x": [1, -2, 0.5], "factor": 3}']);
    expect(code).toBe(0);
    expect(lines(out).filter((line) => line.startsWith("right"))).toHaveLength(3);
  });

  test("inputs are made from the schema if none are given, the same ones each time", async () => {
    const first = await cli(["check", served.url, "--json"]);
    expect(JSON.parse(first.out)).toMatchObject({ passed: true });
    expect(first).toEqual(await cli(["check", served.url, "--json"]));
  });

  test("derivatives that are wrong, with the worst entries first", async () => {
    const { code, out } = await cli(["check", wrong.url, '{"x": [1, 10]}']);
    expect(code).toBe(1);
    expect(out).toContain("wrong   vectorJacobianProduct: 2 of 4 entries are off");
    const worst = lines(out).filter((line) => line.includes("d y["));
    expect(worst.find((line) => line.includes("20.1"))).toMatch(/d y\[1\] \/ d x\[1\] +20\.1 +20 +0\.1/);
    const data = JSON.parse((await cli(["check", wrong.url, '{"x": [1, 10]}', "--endpoint", "vjp", "--json"])).out);
    expect(data.endpoints[0].worst[0]).toMatchObject({ of: "y", wrt: "x", row: [1], column: [1] });
  });

  test("a looser tolerance lets them pass", async () => {
    expect((await cli(["check", wrong.url, '{"x": [1, 10]}', "--rtol", "0.1"])).code).toBe(0);
  });

  test("a path that isn't differentiable, and a Tesseract without derivatives, are refused", async () => {
    const { code, err } = await cli(["check", served.url, '{"x": [1]}', "--wrt", "factor"]);
    expect(code).toBe(2);
    expect(err).toContain('"factor" is no differentiable input');
    const plain = await serve(
      defineTesseract({ name: "plain", inputs: z.object({}), outputs: z.object({}), apply: () => ({}) }),
      { port: 0 },
    );
    others.push(plain);
    expect((await cli(["check", plain.url])).err).toContain("no derivatives that could be checked");
  });
});

describe("test", () => {
  const expected = { object_type: "array", shape: [1], dtype: "float64", data: { encoding: "json", buffer: [9] } };
  const cases: Readonly<Record<string, object | string>> = {
    "good.json": { endpoint: "apply", payload: { inputs: { x: [3] } }, expected_outputs: { y: expected, count: 1 } },
    "off.json": { endpoint: "apply", payload: { inputs: { x: [3.1] } }, expected_outputs: { y: expected, count: 1 } },
    "deep/raises.json": {
      endpoint: "apply",
      payload: { inputs: { x: "no" } },
      expected_exception: "ValidationError",
    },
    "odd.json": { endpoint: "nothing", payload: {}, expected_outputs: {} },
  };
  beforeAll(async () => {
    const { mkdir } = await import("node:fs/promises");
    await mkdir(join(folder, "cases/deep"), { recursive: true });
    for (const [name, text] of Object.entries(cases))
      await writeFile(join(folder, "cases", name), JSON.stringify(text));
  });

  test("tells of each case, and fails if one does", async () => {
    const { code, out } = await cli(["test", inDebug.url, "--cases", "cases"], { directory: folder });
    expect(code).toBe(1);
    expect(out).toContain("passed  cases/deep/raises.json (apply)\n");
    expect(out).toContain("passed  cases/good.json (apply)\n");
    expect(out).toMatch(/failed {2}cases\/off\.json \(apply\)\n {8}.*differ/);
    expect(out).toMatch(/error {2}cases\/odd\.json \(nothing\)\n {8}there is no endpoint "nothing"/);
    expect(lines(out).at(-1)).toBe("2 passed, 2 failed");
  });

  test("cases can be chosen, and --json has them all", async () => {
    const { code, out } = await cli(["test", inDebug.url, "--cases", "cases", "--only", "good", "--json"], {
      directory: folder,
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      passed: 1,
      failed: 0,
      cases: [{ file: "cases/good.json", endpoint: "apply", status: "passed", message: "" }],
    });
  });

  test("a case that call records passes", async () => {
    const file = "recorded/one.json";
    await cli(["call", served.url, "apply", '{"x": [1.5], "factor": 2}', "--record", file], { directory: folder });
    expect((await cli(["test", inDebug.url, "--cases", file], { directory: folder })).out).toContain(
      "1 passed, 0 failed",
    );
  });

  test("a server that isn't in debug mode says how it could be", async () => {
    const { code, err } = await cli(["test", served.url, "--cases", "cases"], { directory: folder });
    expect(code).toBe(1);
    expect(err).toContain("--debug-mode");
  });

  test("no cases, or one that doesn't parse", async () => {
    await writeFile(join(folder, "broken.json"), "{");
    expect((await cli(["test", inDebug.url, "--cases", "broken.json"], { directory: folder })).err).toContain(
      "isn't JSON",
    );
    expect(
      (await cli(["test", inDebug.url, "--cases", "cases", "--only", "zzz"], { directory: folder })).err,
    ).toContain('"zzz"');
  });
});

describe("bench", () => {
  test("a table with bars, and a picture", async () => {
    const args = ["bench", served.url, "--sizes", "10,100", "--seconds", "0.001", "--svg", "bench.svg"];
    const { code, out } = await cli(args, { directory: folder });
    expect(code).toBe(0);
    const rows = lines(out).filter((line) => /json/.test(line));
    expect(rows).toHaveLength(4); // two sizes, json and base64
    for (const row of rows) expect(row).toMatch(/█|▏|▎|▍|▌|▋|▊|▉/);
    const svg = await readFile(join(folder, "bench.svg"), "utf8");
    expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/);
    expect(svg.match(/<rect /g)).toHaveLength(4);
  });

  test("--json gives the rows", async () => {
    const { out } = await cli([
      "bench",
      served.url,
      '{"x": [1, 2]}',
      "--seconds",
      "0.001",
      "--transports",
      "json",
      "--json",
    ]);
    const { rows } = JSON.parse(out);
    expect(rows).toEqual([expect.objectContaining({ transport: "json", bytes: 32, calls: expect.any(Number) })]);
    expect(rows[0].calls).toBeGreaterThanOrEqual(5);
  });

  test("a transport that the Tesseract doesn't offer", async () => {
    const { code, err } = await cli(["bench", served.url, "--transports", "json+smoke"]);
    expect(code).toBe(1);
    expect(err).toContain("json+smoke");
  });
});

describe("doctor", () => {
  test("line by line, what was found and how the rest can be had", async () => {
    const { code, out } = await cli(["doctor", served.url]);
    expect(code).toBe(0);
    expect(out).toMatch(/^-- {2}Node /);
    expect(out).toContain("ok  The Tesseract answers; it has apply, jacobian");
    expect(out).toMatch(/no {2}cuda_ipc.*\n {4}→ \S/);
    expect(lines(out).at(-1)).toBe("--  GPU arrays go through the host");
  });

  test("fails if a GPU transport was asked for", async () => {
    const { code, out } = await cli(["doctor", served.url, "--gpu-transport", "cuda_ipc", "--json"]);
    expect(code).toBe(1);
    expect(JSON.parse(out).findings.at(-1)).toEqual({ state: "no", what: "cuda_ipc was asked for, and doesn't work" });
  });
});

describe("init", () => {
  test("writes a project, and never over a file", async () => {
    const first = await cli(["init", "project"], { directory: folder });
    expect(first.code).toBe(0);
    expect(first.out).toContain("wrote project/tesseract.ts");
    expect((await cli(["init", "project"], { directory: folder })).err).toContain("isn't empty");
    await writeFile(join(folder, "project/tesseract.ts"), "// mine");
    await rm(join(folder, "project/README.md"));
    const again = await cli(["init", "project", "--force", "--json"], { directory: folder });
    expect(JSON.parse(again.out)).toMatchObject({ name: "project", written: ["README.md"] });
    expect(await readFile(join(folder, "project/tesseract.ts"), "utf8")).toBe("// mine");
  });

  test("its name is one that npm takes", async () => {
    const { out } = await cli(["init", "My Heat!", "--json"], { directory: folder });
    expect(JSON.parse(out)).toMatchObject({ name: "my-heat" });
    expect((await cli(["init", "request.json"], { directory: folder })).code).toBe(2);
  });
});

describe("serve", () => {
  test("says where, until Ctrl-C, which closes it", async () => {
    const file = new URL("../tesseracts/work.ts", import.meta.url).pathname;
    const interrupt = new AbortController();
    let url: string | undefined;
    const { code, out } = await cli(["serve", file, "--port", "0", "--json", "--output-path", folder], {
      signal: interrupt.signal,
      onOut: (text) => {
        url = JSON.parse(text).url;
        void fetch(`${url}/health`).then(() => interrupt.abort("SIGINT"));
      },
    });
    expect(code).toBe(130);
    expect(JSON.parse(out)).toEqual({ url, pid: process.pid });
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });

  test("a port that is taken", async () => {
    const file = new URL("../tesseracts/work.ts", import.meta.url).pathname;
    const { code, err } = await cli(["serve", file, "--port", String(served.port)]);
    expect(code).toBe(3);
    expect(err).toContain(`127.0.0.1:${served.port} can't be listened on`);
    expect(err).toContain("--port 0 takes any free port.");
  });

  test("a file that isn't there, defines nothing, or has a syntax error", async () => {
    await writeFile(join(folder, "nothing.mjs"), "export default 3;");
    await writeFile(join(folder, "broken.mjs"), "export default {");
    for (const [name, message] of [
      ["absent.ts", "there is no such file"],
      ["nothing.mjs", "it exports no Tesseract"],
      ["broken.mjs", "can't be loaded: "],
    ] as const) {
      const { code, err } = await cli(["serve", name], { directory: folder });
      expect({ name, code }).toEqual({ name, code: 3 });
      expect(err).toContain(message);
      expect(lines(err)[0]).toMatch(/^tesseract-ts: /);
      expect(err).not.toMatch(/\n\s+at /);
    }
    expect((await stat(folder)).isDirectory()).toBe(true);
  });
});

test("an engine that isn't there is said by call and by build", async () => {
  vi.stubEnv("TESSERACT_ENGINE", "/nowhere/engine");
  try {
    const file = new URL("../tesseracts/work.ts", import.meta.url).pathname;
    for (const args of [
      ["call", "heat:latest", "health"],
      ["build", file, "--tag", "heat"],
    ]) {
      const { code, out, err } = await cli(args);
      expect({ code, out }).toEqual({ code: 3, out: "" });
      expect(err).toContain('tesseract-ts: The container engine "/nowhere/engine"');
      expect(err).toContain("Hint: ");
    }
  } finally {
    vi.unstubAllEnvs();
  }
});
