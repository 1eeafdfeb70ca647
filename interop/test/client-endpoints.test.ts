// Every endpoint of a served Tesseract, and what a client knows about it.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import {
  type ArraysByPath,
  type HostArray,
  hostArray,
  TesseractError,
  type TesseractWarning,
  toNestedList,
} from "@tesseract-ts/core";
import { base64, host } from "@tesseract-ts/transport-host";
import { describe, expect, test } from "vitest";
import {
  appliedAt,
  arrayOf,
  byPath,
  cotangentsAt,
  derivativeAt,
  dot,
  dtypeAt,
  examplePoint,
  type Flat,
  flat,
  inputAt,
  inputPaths,
  inputsAt,
  outputAt,
  outputPaths,
  tangentsAt,
} from "../src/closed-forms.js";
import { connect, sharedClient } from "../src/connect.js";
import type { Faults } from "../src/fixture-types.js";
import { startRecordingProxy } from "../src/recording-proxy.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const encodings = [
  { outputFormat: "json", compression: "none" },
  { outputFormat: "json", compression: "lz4" },
  { outputFormat: "json+base64", compression: "none" },
  { outputFormat: "json+base64", compression: "lz4" },
  { outputFormat: "json+binref", compression: "none" },
  { outputFormat: "json+binref", compression: "lz4" },
] as const;

const point = examplePoint;
const inputs = inputsAt(point);

const asLists = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(asLists);
  if (typeof value !== "object" || value === null) return value;
  if ("data" in value) return toNestedList(value as HostArray);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, asLists(member)]));
};

const flats = (arrays: ArraysByPath<HostArray>): Record<string, Flat> =>
  byPath(Object.keys(arrays), (path) => flat(arrays[path] as HostArray));

/** Any vector of a path's shape, of numbers that float32 holds exactly. */
const vectorAt = (at: (path: string) => Flat, paths: readonly string[], seed: number): Record<string, Flat> =>
  byPath(paths, (path) => {
    const { shape, values } = at(path);
    return { shape, values: values.map((_, index) => (((index + 1) * seed * 37 + path.length * 11) % 17) / 4 - 2) };
  });

const arraysOf = (vectors: Readonly<Record<string, Flat>>): Record<string, HostArray> =>
  byPath(Object.keys(vectors), (path) => arrayOf(vectors[path] as Flat, dtypeAt(path)));

const codeOf = async (call: Promise<unknown>): Promise<unknown> => {
  const error: unknown = await call.then(
    () => "no error",
    (reason: unknown) => reason,
  );
  return error instanceof TesseractError ? error.code : error;
};

const runtimes = sharedRuntimes({
  // In debug mode, which adds one endpoint and changes no other.
  vectors: { fixture: "vectors", debug: true },
  faults: { fixture: "faults", debug: true },
  plain: { fixture: "plain" },
});
const runtime = runtimes.vectors;

describeWithRuntime("1.15", "the endpoints of a Tesseract", () => {
  const client = sharedClient(runtime);

  describe.each(encodings)("in $outputFormat, $compression", (encoding) => {
    const view = () => client().withEncoding(encoding);

    test("apply gives the outputs", async () => {
      const outputs = await view().apply(inputs);
      expect(asLists(outputs)).toEqual(appliedAt(point));
      expect(outputs.y).toMatchObject({ dtype: "float64", shape: [3] });
    });

    test("jacobian gives the derivative of each output with respect to each input", async () => {
      const jacobian = await view().jacobian(inputs, inputPaths, outputPaths);
      expect(byPath(Object.keys(jacobian), (output) => flats(jacobian[output] ?? {}))).toEqual(
        byPath(outputPaths, (output) => byPath(inputPaths, (input) => derivativeAt(point, output, input))),
      );
    });

    test("jacobianVectorProduct gives the outputs' change along a tangent", async () => {
      const tangents = vectorAt((path) => inputAt(point, path), inputPaths, 1);
      const found = await view().jacobianVectorProduct(inputs, inputPaths, outputPaths, arraysOf(tangents));
      expect(flats(found)).toEqual(tangentsAt(point, tangents, outputPaths));
      expect(found["scaled.{a b}"]?.dtype).toBe("float32");
    });

    test("vectorJacobianProduct gives the gradient of the weighted outputs", async () => {
      const cotangents = vectorAt((path) => outputAt(point, path), outputPaths, 2);
      const found = await view().vectorJacobianProduct(inputs, inputPaths, outputPaths, arraysOf(cotangents));
      expect(flats(found)).toEqual(cotangentsAt(point, cotangents, inputPaths));
      expect(found["weights.{a b}"]?.dtype).toBe("float32");
    });
  });

  test.each([1, 2, 3, 4, 5])("the products are each other's adjoint: <w, Jv> = <J'w, v> (%i)", async (seed) => {
    const v = vectorAt((path) => inputAt(point, path), inputPaths, seed);
    const w = vectorAt((path) => outputAt(point, path), outputPaths, seed + 7);
    const jv = await client().jacobianVectorProduct(inputs, inputPaths, outputPaths, arraysOf(v));
    const jw = await client().vectorJacobianProduct(inputs, inputPaths, outputPaths, arraysOf(w));
    const inner = (found: ArraysByPath<HostArray>, given: Readonly<Record<string, Flat>>): number =>
      Object.entries(given)
        .map(([path, { values }]) => dot(flat(found[path] as HostArray).values, values))
        .reduce((sum, term) => sum + term, 0);
    expect(inner(jv, w)).not.toBe(0);
    expect(inner(jv, w)).toBeCloseTo(inner(jw, v), 4);
  });

  test("a derivative is that of apply, by finite differences", async () => {
    const step = 1e-6;
    const shifted = (by: number) => ({ ...inputs, x: Float64Array.of(1 + by, -2) });
    const [above, below] = await Promise.all([client().apply(shifted(step)), client().apply(shifted(-step))]);
    const jacobian = await client().jacobian(inputs, ["x"], ["y"]);
    const column = flat(jacobian.y?.x as HostArray).values.filter((_, index) => index % 2 === 0);
    const slopes = flat(above.y as HostArray).values.map((value, row) => {
      return (value - (flat(below.y as HostArray).values[row] as number)) / (2 * step);
    });
    for (const [row, slope] of slopes.entries()) expect(slope).toBeCloseTo(column[row] as number, 6);
  });

  test("only the derivatives that were asked for are given", async () => {
    const jacobian = await client().jacobian(inputs, ["gain"], ["y"]);
    expect(byPath(Object.keys(jacobian), (output) => Object.keys(jacobian[output] ?? {}))).toEqual({ y: ["gain"] });
    const tangent = { gain: hostArray(1) };
    const jvp = await client().jacobianVectorProduct(inputs, ["gain"], ["y", "stats.norm2"], tangent);
    expect(Object.keys(jvp).sort()).toEqual(["stats.norm2", "y"]);
  });

  test("abstractEval tells shapes and dtypes, of arrays and of shapes and dtypes alike", async () => {
    const expected = {
      y: { shape: [3], dtype: "float64" },
      stats: { norm2: { shape: [], dtype: "float64" } },
      products: [
        { shape: [2], dtype: "float64" },
        { shape: [2], dtype: "float64" },
      ],
      scaled: { "a b": { shape: [2], dtype: "float32" }, other: { shape: [2], dtype: "float32" } },
      rows: 3,
    };
    expect(await client().abstractEval(inputs)).toEqual(expected);
    const abstract = (shape: readonly number[], dtype = "float64") => ({ shape, dtype });
    expect(
      await client().abstractEval({
        x: abstract([2]),
        affine: { matrix: abstract([3, 2]), shift: abstract([3]) },
        gain: abstract([]),
        terms: [abstract([2]), abstract([2])],
        weights: { "a b": abstract([2], "float32"), other: abstract([2], "float32") },
      }),
    ).toEqual(expected);
  });

  test("abstractEval sends no elements", async () => {
    await using proxy = await startRecordingProxy(runtime().url);
    await using throughProxy = await connect({ ...runtime(), url: proxy.url });
    await throughProxy
      .abstractEval({ ...inputs, x: new Float64Array(100_000), terms: [], weights: {} })
      .catch(() => {});
    const sent = proxy.exchanges.find(({ path }) => path === "/abstract_eval");
    expect(sent?.body.toString()).toContain('{"shape":[100000],"dtype":"float64"}');
    expect(sent?.body.length).toBeLessThan(1000);
  });

  test("health says that it is well", async () => {
    expect(await client().health()).toEqual({ status: "ok" });
  });

  test("openapiSchema is the server's document", async () => {
    const document: unknown = await (await fetch(`${runtime().url}/openapi.json`)).json();
    expect(client().openapiSchema).toEqual(document);
  });

  test("availableEndpoints names what there is", () => {
    expect([...client().availableEndpoints].sort()).toEqual(
      ["abstractEval", "apply", "health", "jacobian", "jacobianVectorProduct", "test", "vectorJacobianProduct"].sort(),
    );
  });

  test("serverCapabilities are those that the server advertises", () => {
    expect(client().serverCapabilities).toEqual({
      outputFormats: ["json", "json+base64", "json+binref"],
      gpuTransports: ["none"],
      compressions: ["none", "lz4"],
    });
  });

  test("a run has the name that it was given, in every computing endpoint", async () => {
    const runs = () => readdirSync(runtime().outputPath).filter((name) => name.startsWith("run_named"));
    expect(runs()).toEqual([]);
    await client().apply(inputs, { runId: "named-apply" });
    await client().jacobian(inputs, ["x"], ["y"], { runId: "named-jacobian" });
    await client().jacobianVectorProduct(inputs, ["x"], ["y"], { x: [1, 1] }, { runId: "named-jvp" });
    await client().vectorJacobianProduct(inputs, ["x"], ["y"], { y: [1, 1, 1] }, { runId: "named-vjp" });
    await client().apply(inputs, { runId: "named & ü?" });
    expect(runs().sort()).toEqual(
      ["apply", "jacobian", "jvp", "vjp"]
        .map((name) => `run_named-${name}`)
        .concat("run_named & ü?")
        .sort(),
    );
  });

  test("a run's binref files are in the run's folder", async () => {
    await client().withEncoding({ outputFormat: "json+binref" }).apply(inputs, { runId: "files" });
    const files = readdirSync(join(runtime().outputPath, "run_files"));
    expect(files.filter((file) => file.endsWith(".bin"))).toHaveLength(1);
    expect(existsSync(join(runtime().outputPath, "run_files", "logs"))).toBe(true);
  });
});

describeWithRuntime("1.15", "the encoding of a call", () => {
  const encodingOf = (body: Buffer): unknown => {
    const found = new Set(
      [...body.toString().matchAll(/"(?:encoding|compression)": *"(\w+)"/g)].map(([, name]) => name),
    );
    return [...found].sort();
  };

  test.each([
    { outputFormat: "json", compression: "none", found: ["json"] },
    { outputFormat: "json", compression: "lz4", found: ["json"] },
    { outputFormat: "json+base64", compression: "none", found: ["base64"] },
    { outputFormat: "json+base64", compression: "lz4", found: ["base64", "lz4"] },
    { outputFormat: "json+binref", compression: "none", found: ["binref"] },
    { outputFormat: "json+binref", compression: "lz4", found: ["binref", "lz4"] },
  ] as const)("$outputFormat, $compression is what goes both ways", async ({ outputFormat, compression, found }) => {
    await using proxy = await startRecordingProxy(runtime().url);
    await using client = await connect({ ...runtime(), url: proxy.url }, { outputFormat, compression });
    await client.apply(inputs);
    await client.vectorJacobianProduct(inputs, ["x"], ["y"], { y: Float64Array.of(1, 1, 1) });
    const calls = proxy.exchanges.filter(({ method }) => method === "POST");
    expect(calls.map(({ path }) => path)).toEqual(["/apply", "/vector_jacobian_product"]);
    for (const { headers, body, answerHeaders, answer } of calls) {
      expect(headers.accept).toBe(`application/${outputFormat}; gpu_transport=none; compression=${compression}`);
      expect(headers["content-type"]).toBe("application/json");
      expect(answerHeaders["content-type"]).toBe(`application/${outputFormat}`);
      expect(encodingOf(body)).toEqual(found);
      expect(encodingOf(answer)).toEqual(found);
    }
  });

  test("the client's first transport is used where nothing is asked for, whatever the server's own format", async () => {
    await using proxy = await startRecordingProxy(runtime().url);
    await using client = await connect({ ...runtime(), url: proxy.url });
    expect(client.currentEncoding).toEqual({ outputFormat: "json+base64" });
    await client.apply(inputs);
    expect(proxy.exchanges.at(-1)?.headers.accept).toBe("application/json+base64; gpu_transport=none");
    expect(encodingOf(proxy.exchanges.at(-1)?.answer ?? Buffer.of())).toEqual(["base64"]);
  });

  test("without an inputPath, binref sends its inputs as base64 and reads its outputs from files", async () => {
    await using proxy = await startRecordingProxy(runtime().url);
    const { outputPath } = runtime();
    await using client = await connect(
      { ...runtime(), url: proxy.url },
      { transports: [host({ outputPath })], outputFormat: "json+binref" },
    );
    expect(asLists(await client.apply(inputs))).toEqual(appliedAt(point));
    const { body, answer } = proxy.exchanges.at(-1) ?? { body: Buffer.of(), answer: Buffer.of() };
    expect(encodingOf(body)).toEqual(["base64"]);
    expect(encodingOf(answer)).toEqual(["binref"]);
  });

  test("the client's headers go with every request, and its base path stands before every route", async () => {
    await using proxy = await startRecordingProxy(runtime().url);
    await using client = await connect(
      { ...runtime(), url: proxy.url },
      { headers: { Authorization: "Bearer token" } },
    );
    await client.health();
    await client.apply(inputs);
    expect(proxy.exchanges.map(({ path, headers }) => [path, headers.authorization])).toEqual([
      ["/openapi.json", "Bearer token"],
      ["/health", "Bearer token"],
      ["/apply", "Bearer token"],
    ]);
    await expect(connect(runtime(), { basePath: "/nowhere" })).rejects.toMatchObject({ code: "ENDPOINT_NOT_FOUND" });
  });
});

describeWithRuntime("1.15", "views with another encoding", () => {
  test("keep what they don't change, and leave their parent as it is", async () => {
    await using client = await connect(runtime(), { outputFormat: "json" });
    const compressed = client.withEncoding({ compression: "lz4" });
    const both = compressed.withEncoding({ outputFormat: "json+binref", gpuTransport: "none" });
    expect(client.currentEncoding).toEqual({ outputFormat: "json" });
    expect(compressed.currentEncoding).toEqual({ outputFormat: "json", compression: "lz4" });
    expect(both.currentEncoding).toEqual({ outputFormat: "json+binref", gpuTransport: "none", compression: "lz4" });
    expect(both.withEncoding({ outputFormat: undefined }).currentEncoding).toEqual(both.currentEncoding);
    expect(compressed.openapiSchema).toBe(client.openapiSchema);
    expect(asLists(await both.apply(inputs))).toEqual(appliedAt(point));
  });

  test("may be closed without ending anything", async () => {
    await using client = await connect(runtime());
    const view = client.withEncoding({ outputFormat: "json" });
    await view.close();
    expect(asLists(await view.apply(inputs))).toEqual(appliedAt(point));
    expect(asLists(await client.apply(inputs))).toEqual(appliedAt(point));
  });

  test("end with the Tesseract that they are views of", async () => {
    const client = await connect(runtime());
    const view = client.withEncoding({ outputFormat: "json" });
    await client.close();
    expect(await codeOf(view.apply(inputs))).toBe("CLOSED");
    expect(await codeOf(client.health())).toBe("CLOSED");
    await client.close();
  });

  test("are refused what the server or the client doesn't have, before any call", async () => {
    await using client = await connect(runtime(), { transports: [base64()] });
    const refusal = (encoding: object): unknown => {
      try {
        client.withEncoding(encoding);
        return "none";
      } catch (error) {
        return error instanceof TesseractError ? error.code : error;
      }
    };
    expect(refusal({ outputFormat: "json" })).toBe("TRANSPORT_MISSING");
    expect(refusal({ outputFormat: "json+carrier-pigeon" })).toBe("ENCODING_UNAVAILABLE");
    expect(refusal({ gpuTransport: "cuda_ipc" })).toBe("ENCODING_UNAVAILABLE");
    expect(refusal({ compression: "zstd" })).toBe("ENCODING_UNAVAILABLE");
    expect(await codeOf(connect(runtime(), { outputFormat: "json+smoke" }))).toBe("ENCODING_UNAVAILABLE");
  });

  test("earn no warning from a runtime that says what it compresses with", async () => {
    const warnings: TesseractWarning[] = [];
    await using client = await connect(runtime(), {
      compression: "lz4",
      onWarning: (warning) => warnings.push(warning),
    });
    await client.withEncoding({ compression: "none" }).apply(inputs);
    expect(warnings).toEqual([]);
  });
});

describeWithRuntime("1.15", "a Tesseract that has only apply", () => {
  const client = sharedClient(runtimes.plain);

  test("says so", () => {
    expect(client().availableEndpoints).toEqual(["apply", "health"]);
  });

  test("is called", async () => {
    const answer = await client().apply({ name: "you", a: [1, 2], b: Float64Array.of(3, 4) });
    expect(asLists(answer)).toEqual({ greeting: "Hello you!", total: [4, 6] });
  });

  test("has no derivatives, no abstractEval, and outside debug mode no test", async () => {
    const missing = [
      client().jacobian({}, ["a"], ["total"]),
      client().jacobianVectorProduct({}, ["a"], ["total"], { a: [1] }),
      client().vectorJacobianProduct({}, ["a"], ["total"], { total: [1] }),
      client().abstractEval({}),
      client().test({ endpoint: "apply", payload: { inputs: {} }, expectedOutputs: {} }),
    ];
    expect(await Promise.all(missing.map(codeOf))).toEqual(missing.map(() => "ENDPOINT_NOT_FOUND"));
  });
});

describeWithRuntime("1.15", "regression tests on a server in debug mode", () => {
  const vectors = sharedClient(runtime);
  const faults = sharedClient<Faults>(runtimes.faults);
  const rejection = async (call: Promise<void>): Promise<{ code: string; message: string }> => {
    const error: unknown = await call.then(
      () => new Error("The test passed."),
      (reason: unknown) => reason,
    );
    if (error instanceof TesseractError) return error;
    throw error;
  };

  test.each(["json", "json+base64", "json+binref"])(
    "pass where the outputs are as expected, in %s",
    async (outputFormat) => {
      const client = vectors().withEncoding({ outputFormat });
      const expectedOutputs = {
        y: arrayOf(outputAt(point, "y")),
        stats: { norm2: arrayOf(outputAt(point, "stats.norm2")) },
        products: [arrayOf(outputAt(point, "products.[0]")), arrayOf(outputAt(point, "products.[1]"))],
        scaled: {
          "a b": arrayOf(outputAt(point, "scaled.{a b}"), "float32"),
          other: arrayOf(outputAt(point, "scaled.{other}"), "float32"),
        },
        rows: 3,
      };
      await client.test({ endpoint: "apply", payload: { inputs }, expectedOutputs });
    },
  );

  test("cover the derivatives too", async () => {
    await vectors().test({
      endpoint: "jacobian",
      payload: { inputs, jacInputs: ["gain"], jacOutputs: ["y"] },
      expectedOutputs: { y: { gain: arrayOf(derivativeAt(point, "y", "gain")) } },
    });
    await vectors().test({
      endpoint: "jacobianVectorProduct",
      payload: { inputs, jvpInputs: ["gain"], jvpOutputs: ["y"], tangentVector: { gain: hostArray(1) } },
      expectedOutputs: { y: arrayOf(derivativeAt(point, "y", "gain")) },
    });
    await vectors().test({
      endpoint: "vectorJacobianProduct",
      payload: { inputs, vjpInputs: ["affine.shift"], vjpOutputs: ["y"], cotangentVector: { y: hostArray([1, 1, 1]) } },
      expectedOutputs: { "affine.shift": hostArray([2, 2, 2]) },
    });
  });

  const givingBackOne = (expected: object) => ({
    endpoint: "jacobianVectorProduct" as const,
    payload: {
      inputs: { x: hostArray([0]) },
      jvpInputs: ["x"],
      jvpOutputs: ["y"],
      tangentVector: { x: hostArray([1]) },
    },
    expectedOutputs: { y: expected },
  });

  test("fail with REGRESSION_FAILED and the difference where a value, a shape or a dtype isn't as expected", async () => {
    const value = await rejection(faults().test(givingBackOne(hostArray([1.5]))));
    expect(value).toMatchObject({ code: "REGRESSION_FAILED", message: expect.stringContaining("1.5") });
    expect(await rejection(faults().test(givingBackOne(hostArray([1, 1]))))).toMatchObject({
      code: "REGRESSION_FAILED",
      message: expect.stringMatching(/shape mismatch/i),
    });
    expect(await rejection(faults().test(givingBackOne(hostArray([1], { dtype: "float32" }))))).toMatchObject({
      code: "REGRESSION_FAILED",
      message: expect.stringContaining("'float32' does not match expected dtype 'float64'"),
    });
  });

  test("keep to the tolerances that they are given", async () => {
    const spec = givingBackOne(hostArray([1.01]));
    expect(await rejection(faults().test(spec))).toMatchObject({ code: "REGRESSION_FAILED" });
    await faults().test({ ...spec, rtol: 0.1 });
    await faults().test({ ...spec, atol: 0.1 });
    expect(await rejection(faults().test({ ...spec, atol: 0.001, rtol: 0 }))).toMatchObject({
      code: "REGRESSION_FAILED",
    });
  });

  test("pass where the expected exception is raised", async () => {
    const payload = { inputs: { action: "raise", message: "as you wish" } };
    await faults().test({ endpoint: "apply", payload, expectedException: "ValueError" });
    await faults().test({
      endpoint: "apply",
      payload,
      expectedException: "ValueError",
      expectedExceptionRegex: "as you",
    });
  });

  test("don't pass where another exception is raised, another text or none", async () => {
    const payload = { inputs: { action: "raise", message: "as you wish" } };
    const codes = [
      faults().test({ endpoint: "apply", payload, expectedException: "KeyError" }),
      faults().test({ endpoint: "apply", payload, expectedException: "ValueError", expectedExceptionRegex: "else" }),
      faults().test({ endpoint: "apply", payload: { inputs: {} }, expectedException: "ValueError" }),
    ].map(async (call) => (await rejection(call)).code);
    expect(await Promise.all(codes)).toEqual(codes.map(() => "REGRESSION_FAILED"));
  });

  test("end with REGRESSION_ERROR and the reason where the endpoint raises", async () => {
    const call = faults().test({
      endpoint: "apply",
      payload: { inputs: { action: "raise", message: "as you wish" } },
      expectedOutputs: { y: hostArray([0]), calls: 1 },
    });
    expect(await rejection(call)).toMatchObject({
      code: "REGRESSION_ERROR",
      message: expect.stringContaining("as you wish"),
    });
  });

  test("are refused when they say nothing or too much of what is expected", async () => {
    const codes = [
      faults().test({ endpoint: "apply", payload: { inputs: {} } }),
      faults().test({
        endpoint: "apply",
        payload: { inputs: {} },
        expectedOutputs: {},
        expectedException: "ValueError",
      }),
    ].map(codeOf);
    expect(await Promise.all(codes)).toEqual(["VALIDATION_FAILED", "VALIDATION_FAILED"]);
  });
});
