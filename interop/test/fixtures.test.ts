// Proves the harness and its fixtures with bare HTTP, so that a failing client test means a failing client.

import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingRuntime } from "../src/python.js";
import { type Runtime, type RuntimeOptions, startRuntime } from "../src/runtime.js";
import { describeWithRuntime, START_TIMEOUT } from "../src/with-runtime.js";

interface Answer {
  status: number;
  contentType: string | null;
  text: string;
  json: () => unknown;
}

async function call(runtime: Runtime, endpoint: string, body: unknown, accept = "application/json"): Promise<Answer> {
  const response = await fetch(`${runtime.url}/${endpoint}`, {
    method: "POST",
    headers: { "content-type": "application/json", accept },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    contentType: response.headers.get("content-type"),
    text,
    json: () => JSON.parse(text),
  };
}

const array = (buffer: unknown, shape: number[], dtype = "float64") => ({
  object_type: "array",
  shape,
  dtype,
  data: { encoding: "json", buffer },
});

const vector = (...values: number[]) => array(values, [values.length]);

const fixtures = {
  identity: { fixture: "identity", outputFormat: "json+binref", compression: "lz4" },
  arrays: { fixture: "arrays" },
  trees: { fixture: "trees" },
  vectors: { fixture: "vectors" },
  "vectors of 1.13": { fixture: "vectors", version: "1.13" },
  "vectors of 1.12": { fixture: "vectors", version: "1.12" },
  plain: { fixture: "plain" },
  faults: { fixture: "faults", debug: true },
} satisfies Record<string, RuntimeOptions>;

const runtimes = new Map<string, Runtime>();

const runtimeOf = (name: keyof typeof fixtures) => (): Runtime => {
  const runtime = runtimes.get(name);
  if (runtime === undefined) throw new Error(`The runtime with ${name} didn't start.`);
  return runtime;
};

// All at once, which is also a promise to keep.
beforeAll(async () => {
  const start = async ([name, options]: [string, RuntimeOptions]) => {
    if (missingRuntime(options.version ?? "1.15") === undefined) runtimes.set(name, await startRuntime(options));
  };
  await Promise.all(Object.entries(fixtures).map(start));
}, START_TIMEOUT);

afterAll(async () => {
  await Promise.all([...runtimes.values()].map((runtime) => runtime.stop()));
});

describeWithRuntime("1.15", "identity", () => {
  const runtime = runtimeOf("identity");

  test("gives arrays back in a list and under any key", async () => {
    const big = '{"shape":[1],"dtype":"uint64","data":{"encoding":"json","buffer":[18446744073709551615]}}';
    const named = { constructor: vector(1), toString: vector(2), "a.b {c} ü": vector() };
    const body = `{"inputs":{"arrays":[${big}],"named":${JSON.stringify(named)}}}`;
    const answer = await call(runtime(), "apply", body);
    expect(answer.text).toContain("18446744073709551615");
    expect(answer.json()).toMatchObject({ named });
  });

  test("is configured by the options", async () => {
    const answer = await call(runtime(), "apply?run_id=mine", { inputs: { arrays: [vector(1, 2, 3)] } }, "*/*");
    expect(answer.contentType).toBe("application/json+binref");
    const [, path] = /"buffer":"([^:]*):0:\d+".*"compression":"lz4"/.exec(answer.text) ?? [];
    expect(path).toMatch(/^run_mine\/.*\.bin$/);
    expect(existsSync(join(runtime().outputPath, String(path)))).toBe(true);
  });

  test("evaluates abstractly", async () => {
    const answer = await call(runtime(), "abstract_eval", { inputs: { arrays: [{ shape: [2, 0], dtype: "int8" }] } });
    expect(answer.json()).toEqual({ arrays: [{ shape: [2, 0], dtype: "int8" }], named: {} });
  });
});

describeWithRuntime("1.15", "arrays", () => {
  const runtime = runtimeOf("arrays");

  test("casts and broadcasts to the schema, and leaves out what wasn't sent", async () => {
    const inputs = { int8: array([[5]], [1, 1], "int64"), matrix: [[1], [2]], scalar: 1 };
    const answer = await call(runtime(), "apply", { inputs });
    const broadcast = [
      [1, 1, 1],
      [2, 2, 2],
    ];
    expect(answer.json()).toEqual({
      int8: array([[5]], [1, 1], "int8"),
      matrix: array(broadcast, [2, 3]),
      scalar: array(1, []),
    });
  });

  test("takes rank 5", async () => {
    const answer = await call(runtime(), "apply", { inputs: { rank5: [[[[[1, 2]]]]] } });
    expect(answer.json()).toMatchObject({ rank5: { shape: [1, 1, 1, 1, 2], dtype: "float32" } });
  });
});

describeWithRuntime("1.15", "trees", () => {
  const runtime = runtimeOf("trees");
  const leaf = (...values: number[]) => ({ x: vector(...values) });

  test("gives back every form of tree", async () => {
    const inputs = {
      branch: { left: leaf(1), right: { ...leaf(2), label: "right" } },
      stack: [array(1, []), vector(1, 2)],
      leaves: [leaf(3)],
      pair: [array(1, []), array([1], [1], "int32")],
      params: { "a.b": vector(1), "{c}": vector(2), "d e": vector(3), constructor: vector(4), "": vector(5) },
      models: { ü: leaf() },
      grid: { toString: [[vector(1)], []] },
      array_or_text: "words",
      shape: { kind: "circle", radius: array(2, []) },
      notes: { a: "b", n: null, i: 1, f: 0.5, t: true },
    };
    const answer = await call(runtime(), "apply", { inputs });
    expect(answer.json()).toMatchObject({
      ...inputs,
      maybe: null,
      preset: vector(1, 2, 3),
      text: "text",
      keys: ["a.b", "{c}", "d e", "constructor", "", "ü", "toString"],
    });
  });

  test("evaluates abstractly", async () => {
    const x = { shape: [7], dtype: "float64" };
    const answer = await call(runtime(), "abstract_eval", { inputs: { branch: { left: { x } }, params: { k: x } } });
    expect(answer.json()).toMatchObject({ branch: { left: { x } }, params: { k: x }, keys: ["k"] });
  });
});

const inputs = {
  x: vector(1, 2),
  affine: { matrix: array([[1, 2]], [1, 2]), shift: vector(5) },
  gain: array(3, []),
  terms: [vector(10, 20)],
  weights: { "a b": array([0.5, 0.25], [2], "float32") },
};

async function expectVectors(runtime: Runtime): Promise<void> {
  const apply = await call(runtime, "apply", { inputs });
  expect(apply.json()).toEqual({
    y: vector(30),
    stats: { norm2: array(5, []) },
    products: [vector(10, 40)],
    scaled: { "a b": array([0.5, 0.5], [2], "float32") },
    rows: 1,
  });

  const paths = ["x", "gain", "terms.[0]", "weights.{a b}"];
  const jacobian = await call(runtime, "jacobian", {
    inputs,
    jac_inputs: paths,
    jac_outputs: ["y", "stats.norm2", "products.[0]", "scaled.{a b}"],
  });
  expect(jacobian.json()).toMatchObject({
    y: { x: array([[3, 6]], [1, 2]), gain: vector(10), "terms.[0]": array([[0, 0]], [1, 2]) },
    "stats.norm2": { x: vector(2, 4), gain: array(0, []) },
    "products.[0]": {
      "terms.[0]": {
        data: {
          buffer: [
            [1, 0],
            [0, 2],
          ],
        },
      },
    },
    "scaled.{a b}": {
      x: {
        data: {
          buffer: [
            [0.5, 0],
            [0, 0.25],
          ],
        },
      },
    },
  });

  const jvp = await call(runtime, "jacobian_vector_product", {
    inputs,
    jvp_inputs: ["x", "gain"],
    jvp_outputs: ["y", "scaled.{a b}"],
    tangent_vector: { x: vector(1, -1), gain: array(2, []) },
  });
  expect(jvp.json()).toEqual({ y: vector(17), "scaled.{a b}": array([0.5, -0.25], [2], "float32") });

  const vjp = await call(runtime, "vector_jacobian_product", {
    inputs,
    vjp_inputs: ["x", "weights.{a b}"],
    vjp_outputs: ["y", "stats.norm2"],
    cotangent_vector: { y: vector(1), "stats.norm2": array(10, []) },
  });
  expect(vjp.json()).toEqual({ x: vector(23, 46), "weights.{a b}": array([0, 0], [2], "float32") });

  const abstract = await call(runtime, "abstract_eval", { inputs });
  expect(abstract.json()).toMatchObject({ y: { shape: [1] }, scaled: { "a b": { dtype: "float32" } }, rows: 1 });
}

describeWithRuntime("1.15", "vectors", () => {
  const runtime = runtimeOf("vectors");

  test("answers each endpoint with closed forms", () => expectVectors(runtime()));

  test("says what is wrong with a request", async () => {
    const unknown = await call(runtime(), "jacobian", { inputs, jac_inputs: ["nope"], jac_outputs: ["y"] });
    expect(unknown.status).toBe(422);
    expect((await call(runtime(), "apply", { inputs }, "application/xml")).status).toBe(406);
    expect((await call(runtime(), "nope", {})).status).toBe(404);
  });
});

describe.each(["1.13", "1.12"] as const)("runtime %s", (version) => {
  describeWithRuntime(version, "vectors", () => {
    const runtime = runtimeOf(`vectors of ${version}`);
    test("answers each endpoint with closed forms", () => expectVectors(runtime()));
  });
});

describeWithRuntime("1.15", "plain", () => {
  const runtime = runtimeOf("plain");

  test("has apply and nothing to differentiate", async () => {
    const answer = await call(runtime(), "apply", { inputs: { name: "you", a: [1, 2], b: [3, 4] } });
    expect(answer.json()).toEqual({ greeting: "Hello you!", total: vector(4, 6) });
    const openapi: { paths: object } = await (await fetch(`${runtime().url}/openapi.json`)).json();
    expect(Object.keys(openapi.paths)).toEqual(["/apply", "/health"]);
    expect((await call(runtime(), "jacobian", {})).status).toBe(404);
  });

  test("has no test endpoint without debug mode", async () => {
    expect((await call(runtime(), "test", {})).status).toBe(404);
  });
});

describeWithRuntime("1.15", "faults, in debug mode", () => {
  const runtime = runtimeOf("faults");
  const act = (action: string, more = {}) => call(runtime(), "apply", { inputs: { action, ...more } });

  test("counts its calls, in its answers and on disk", async () => {
    expect((await act("return")).json()).toMatchObject({ calls: 1 });
    const vjp = { vjp_inputs: ["x"], vjp_outputs: ["y"], cotangent_vector: { y: vector(1) } };
    expect((await call(runtime(), "vector_jacobian_product", { inputs: {}, ...vjp })).status).toBe(200);
    expect((await act("return")).json()).toMatchObject({ calls: 3 });
    expect(await runtime().calls()).toEqual(["apply return", "vector_jacobian_product return", "apply return"]);
  });

  test("raises, with a traceback", async () => {
    const answer = await act("raise", { message: "as you wish" });
    expect(answer.status).toBe(500);
    expect(answer.text).toContain("ValueError: as you wish");
    await expect.poll(() => runtime().logs()).toContain("ValueError: as you wish");
  });

  test("gives an answer that its own schema refuses", async () => {
    expect((await act("wrong")).status).toBe(500);
  });

  test("prints into its run's log", async () => {
    await call(runtime(), "apply?run_id=loud", { inputs: { action: "print", message: "hello" } });
    const log = await readFile(join(runtime().outputPath, "run_loud/logs/tesseract.log"), "utf8");
    expect(log).toBe("hello\nhello\n");
  });

  test("has a test endpoint", async () => {
    const payload = { inputs: { action: "raise" } };
    const answer = await call(runtime(), "test", { endpoint: "apply", payload, expected_exception: "ValueError" });
    expect(answer.json()).toEqual({ status: "passed", message: "", endpoint: "apply" });
  });

  test("sleeps", async () => {
    const start = performance.now();
    await act("sleep", { seconds: 0.2 });
    expect(performance.now() - start).toBeGreaterThan(190);
  });

  test("ends its process", async () => {
    await expect(act("exit")).rejects.toThrow();
    expect(await runtime().exited).toBe(1);
    expect((await runtime().calls()).at(-1)).toBe("apply exit");
  });
});
