// What the client says when something goes wrong, with real servers and with recorded and tampered answers.

import { mkdir, readdir, symlink, truncate, unlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type HostTransport, hostArray, TesseractError } from "@tesseract-ts/core";
import { base64, host, json } from "@tesseract-ts/transport-host";
import { describe, expect, test } from "vitest";
import { connect, sharedClient } from "../src/connect.js";
import type { Faults, Identity } from "../src/fixture-types.js";
import { type GoldenAnswer, goldenAnswer, goldenAnswers, goldenOpenApi } from "../src/golden.js";
import { serveLocally } from "../src/local-server.js";
import { runtimeVersions } from "../src/python.js";
import { startRecordingProxy } from "../src/recording-proxy.js";
import { type Answer, startReplay } from "../src/replay.js";
import { startRuntime } from "../src/runtime.js";
import { describeWithRuntime, START_TIMEOUT, sharedRuntimes } from "../src/with-runtime.js";

/** What a call or a connection is rejected with. */
async function errorOf(call: Promise<unknown>): Promise<TesseractError> {
  const error: unknown = await call.then(
    (result) => new Error(`There was no error but ${JSON.stringify(result)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof TesseractError) return error;
  throw error;
}

const codeOf = async (call: Promise<unknown>): Promise<string> => (await errorOf(call)).code;

/** `a.b: kind` for each place. */
const faultsIn = ({ issues }: TesseractError): string[] =>
  issues.map(({ path, type }) => `${path.join(".")}: ${type}`).sort();

const someInputs = { x: [1, 2], affine: { matrix: [[1, 2]], shift: [5] } };

const runtimes = sharedRuntimes({
  vectors: { fixture: "vectors" },
  identity: { fixture: "identity" },
  faults: { fixture: "faults" },
  debug: { fixture: "faults", debug: true },
});

describeWithRuntime("1.15", "a request that the server finds faults with", () => {
  const client = sharedClient(runtimes.vectors);

  test("fails with VALIDATION_FAILED and every place, kind and message", async () => {
    const error = await errorOf(
      client().apply({ x: "abc", affine: { matrix: [[1, 2]], extra: 1 }, gain: [1], terms: [[1], "a"], zz: true }),
    );
    expect(error).toMatchObject({ code: "VALIDATION_FAILED", status: 422 });
    expect(faultsIn(error)).toEqual(
      [
        "body.inputs.x: array_non_numeric",
        "body.inputs.affine.shift: missing",
        "body.inputs.affine.extra: extra_forbidden",
        "body.inputs.gain: array_dimensionality_mismatch",
        "body.inputs.terms.1: array_non_numeric",
        "body.inputs.zz: extra_forbidden",
      ].sort(),
    );
    for (const { path, message } of error.issues) {
      expect(message).not.toBe("");
      expect(error.message).toContain(`${path.join(".")}: ${message}`);
    }
    expect(error.issues.find(({ type }) => type === "array_dimensionality_mismatch")).toMatchObject({
      context: { actual_dims: 1, expected_dims: 0 },
    });
    expect(error.issues.find(({ path }) => path.includes("zz"))).toMatchObject({ input: true });
    expect(JSON.parse(error.body ?? "")).toHaveProperty("detail");
  });

  test("names a path that isn't differentiable, and what there is instead", async () => {
    const error = await errorOf(client().jacobian(someInputs, ["nope", "x"], ["rows"]));
    expect(error.code).toBe("VALIDATION_FAILED");
    expect(new Set(error.issues.map(({ path }) => path.slice(0, 3).join(".")))).toEqual(
      new Set(["body.jac_inputs.0", "body.jac_outputs.0"]),
    );
    expect(error.issues.map(({ type }) => type)).toContain("literal_error");
    expect(error.message).toContain("affine.matrix");
  });

  test("names a tangent that is missing, too much or of the wrong shape", async () => {
    const jvp = (tangent: Record<string, unknown>) =>
      errorOf(client().jacobianVectorProduct(someInputs, ["x"], ["y"], tangent));
    for (const tangent of [{}, { x: [1, 1], gain: 1 }, { x: [1, 1, 1] }, { x: 1 }]) {
      expect(await jvp(tangent)).toMatchObject({ code: "VALIDATION_FAILED", status: 422 });
    }
    expect((await jvp({ x: [1, 1, 1] })).issues).toMatchObject([{ path: ["body", "tangent_vector"] }]);
  });

  test("leaves the client as it was", async () => {
    expect(await codeOf(client().apply({}))).toBe("VALIDATION_FAILED");
    expect((await client().apply(someInputs)).y?.data).toEqual(Float64Array.of(10));
  });

  test("fails alike in every format", async () => {
    for (const outputFormat of ["json", "json+base64", "json+binref"]) {
      const view = client().withEncoding({ outputFormat });
      expect(faultsIn(await errorOf(view.apply({ ...someInputs, x: hostArray([[1]]) })))).toEqual([
        "body.inputs.x: array_non_numeric",
      ]);
    }
  });
});

describe.each(runtimeVersions)("the recorded answers of runtime %s", (version) => {
  const answers = goldenAnswers(version);
  const codes: Readonly<Record<number, string>> = {
    400: "SERVER_ERROR",
    404: "ENDPOINT_NOT_FOUND",
    405: "SERVER_ERROR",
    406: "ENCODING_UNAVAILABLE",
    422: "VALIDATION_FAILED",
    500: "SERVER_ERROR",
  };
  const replayed = ({ status, headers, body }: GoldenAnswer): Answer => ({ status, headers, body });

  test.each(answers.filter(({ status }) => status !== 200))(
    "$name ($status) is an error by its status",
    async (answer) => {
      await using replay = await startReplay(() => replayed(answer), goldenOpenApi(version));
      await using client = await connect({ url: replay.url, inputPath: "", outputPath: "" });
      const error = await errorOf(client.apply(someInputs));
      expect(error).toMatchObject({ code: codes[answer.status], status: answer.status, body: answer.body });
      const { detail }: { detail?: unknown } = answer.headers["content-type"]?.includes("json")
        ? JSON.parse(answer.body)
        : {};
      if (answer.status === 422 && Array.isArray(detail)) {
        expect(error.issues.map(({ path, type, message }) => ({ loc: path, type, msg: message }))).toEqual(
          detail.map(({ loc, type, msg }: Record<string, unknown>) => ({ loc, type, msg })),
        );
      }
      expect(replay.requests).toHaveLength(1);
    },
  );

  test.each(answers.filter(({ name, status }) => status === 200 && name.startsWith("apply")))(
    "$name is read",
    async (answer) => {
      await using replay = await startReplay(() => replayed(answer), goldenOpenApi(version));
      await using client = await connect({ url: replay.url, inputPath: "", outputPath: "" });
      const outputs = await client.apply(someInputs);
      expect(outputs.y).toEqual(hostArray([11, 22.5, 34.25]));
      expect(outputs).toMatchObject({ products: [hostArray([1, -2])], stats: { norm2: hostArray(5) }, rows: 3 });
    },
  );

  test("a Jacobian is read", async () => {
    const answer = goldenAnswer("jacobian of one input", version);
    await using replay = await startReplay(() => replayed(answer), goldenOpenApi(version));
    await using client = await connect({ url: replay.url, inputPath: "", outputPath: "" });
    expect(await client.jacobian(someInputs, ["x"], ["y"])).toEqual({
      y: {
        x: hostArray([
          [2, 4],
          [6, 8],
          [10, 12],
        ]),
      },
    });
  });
});

describe("an answer that no Tesseract gives", () => {
  const askedOf = async (answer: Answer): Promise<TesseractError> => {
    await using replay = await startReplay(() => answer);
    await using client = await connect({ url: replay.url, inputPath: "", outputPath: "" });
    return await errorOf(client.apply(someInputs));
  };
  const html = { "content-type": "text/html" };

  test("is MALFORMED_RESPONSE where it says that all is well", async () => {
    const page = await askedOf({ headers: html, body: "<!doctype html><p>Welcome</p>" });
    expect(page).toMatchObject({ code: "MALFORMED_RESPONSE", status: 200, body: "<!doctype html><p>Welcome</p>" });
    for (const body of ["", '{"y": ', '{"y": 1} 2', "{'y': 1}", '{"y": nope}']) {
      expect(await askedOf({ body })).toMatchObject({ code: "MALFORMED_RESPONSE" });
    }
  });

  test("is SERVER_ERROR, with what it says, where it is a proxy's error", async () => {
    const page = await askedOf({ status: 502, headers: html, body: "<html><h1>Bad Gateway</h1></html>" });
    expect(page).toMatchObject({ code: "SERVER_ERROR", status: 502 });
    expect(page.message).toContain("proxy");
    expect(page.body).toContain("Bad Gateway");
  });

  test("is CONNECTION_LOST where it is cut short", async () => {
    await using server = await serveLocally(({ path }, response) => {
      if (path === "/openapi.json") {
        response.writeHead(200, { "content-type": "application/json" }).end(goldenOpenApi());
        return;
      }
      response.writeHead(200, { "content-type": "application/json", "content-length": 1000 });
      response.write('{"y": 1', () => response.destroy());
    });
    await using client = await connect({ url: server.url, inputPath: "", outputPath: "" });
    expect(await codeOf(client.apply(someInputs))).toBe("CONNECTION_LOST");
  });

  test("isn't taken for a Tesseract's OpenAPI document", async () => {
    for (const document of ["<html></html>", "[]", "{}", "null", '{"openapi": "3.1.0"}']) {
      await using replay = await startReplay(() => ({ body: "{}" }), document);
      const connecting = connect({ url: replay.url, inputPath: "", outputPath: "" });
      expect(await codeOf(connecting)).toBe("MALFORMED_RESPONSE");
    }
  });
});

describeWithRuntime("1.15", "an endpoint that raises", () => {
  const quiet = sharedClient<Faults>(runtimes.faults);
  const debug = sharedClient<Faults>(runtimes.debug);
  const wrong = (client: () => ReturnType<typeof quiet>) => errorOf(client().apply({ action: "wrong" }));

  test("is SERVER_ERROR, and the reason stays on the server", async () => {
    const error = await errorOf(quiet().apply({ action: "raise", message: "as you wish" }));
    expect(error).toMatchObject({ code: "SERVER_ERROR", status: 500, body: "Internal Server Error" });
    expect(error.hint).toMatch(/log/);
    expect(await wrong(quiet)).toMatchObject({ code: "SERVER_ERROR", status: 500 });
  });

  test("in debug mode gives its traceback", async () => {
    const error = await errorOf(debug().apply({ action: "raise", message: "as you wish" }));
    expect(error).toMatchObject({ code: "SERVER_ERROR", status: 500 });
    expect(error.body).toContain("Traceback");
    expect(error.body).toContain("ValueError: as you wish");
    expect((await wrong(debug)).body).toContain("Traceback");
  });

  test("in a derivative is SERVER_ERROR too", async () => {
    const failing = { action: "raise" as const, x: [1] };
    const calls = [
      debug().jacobian(failing, ["x"], ["y"]),
      debug().jacobianVectorProduct(failing, ["x"], ["y"], { x: [1] }),
      debug().vectorJacobianProduct(failing, ["x"], ["y"], { y: [1] }),
    ];
    for (const error of await Promise.all(calls.map(errorOf))) {
      expect(error).toMatchObject({ code: "SERVER_ERROR", status: 500 });
      expect(error.body).toContain("ValueError: asked to fail");
    }
  });

  // The server ends the connection some milliseconds after such an answer, without having announced it.
  test.each([0, 1, 2, 5, 10, 20])("runs once, and the next call %i ms later runs once too", async (pause) => {
    const { calls } = await quiet().apply({});
    for (let i = 1; i <= 5; i++) {
      expect(await codeOf(quiet().apply({ action: "raise" }))).toBe("SERVER_ERROR");
      await sleep(pause);
      expect((await quiet().apply({})).calls).toBe(calls + 2 * i);
    }
  });
});

describeWithRuntime("1.15", "a call that ends early", () => {
  const runtime = runtimes.faults;
  const client = sharedClient<Faults>(runtime);
  const napping = { action: "sleep", seconds: 2 } as const;
  const sleeps = async (): Promise<number> => (await runtime().calls()).filter((call) => call === "apply sleep").length;
  const begun = (before: number) => expect.poll(sleeps, { interval: 10 }).toBe(before + 1);

  const elapsed = async (work: () => Promise<void>): Promise<number> => {
    const start = performance.now();
    await work();
    return performance.now() - start;
  };

  test("by its timeout is TIMEOUT, runs once to its end, and the client works on", async () => {
    const before = await sleeps();
    const took = await elapsed(async () => {
      expect(await codeOf(client().apply(napping, { timeout: 150 }))).toBe("TIMEOUT");
    });
    expect(took).toBeGreaterThan(140);
    expect(took).toBeLessThan(napping.seconds * 1000);
    expect((await client().apply({ x: [1] })).y.data).toEqual(Float64Array.of(1));
    expect(await sleeps()).toBe(before + 1);
  });

  test("by its signal is ABORTED at once, runs once to its end, and the client works on", async () => {
    const before = await sleeps();
    const controller = new AbortController();
    const call = codeOf(client().apply(napping, { signal: controller.signal }));
    await begun(before);
    const took = await elapsed(async () => {
      controller.abort();
      expect(await call).toBe("ABORTED");
    });
    expect(took).toBeLessThan(napping.seconds * 1000);
    expect((await client().apply({ x: [2] })).y.data).toEqual(Float64Array.of(2));
    expect(await sleeps()).toBe(before + 1);
  });

  test("before it began isn't sent", async () => {
    const before = await runtime().calls();
    const reason = new Error("changed my mind");
    expect(await errorOf(client().apply({}, { signal: AbortSignal.abort(reason) }))).toMatchObject({
      code: "ABORTED",
      cause: reason,
    });
    expect(await runtime().calls()).toEqual(before);
  });

  test("waits no longer than the client's own timeout, which a call's own may extend", async () => {
    await using impatient = await connect<Faults>(runtime(), { timeout: 1000 });
    expect(await codeOf(impatient.apply(napping))).toBe("TIMEOUT");
    await client().health();
    expect((await impatient.apply({ ...napping, x: [3] }, { timeout: 10_000 })).y.data).toEqual(Float64Array.of(3));
  });

  test("because the Tesseract is closed is CLOSED", async () => {
    const before = await sleeps();
    const closing = await connect<Faults>(runtime());
    const call = codeOf(closing.apply(napping));
    await begun(before);
    await closing.close();
    expect(await call).toBe("CLOSED");
    expect(await codeOf(closing.apply({}))).toBe("CLOSED");
  });

  test("because the answer is too large is RESPONSE_TOO_LARGE", async () => {
    await using modest = await connect<Faults>(runtime(), { maxResponseBytes: 200_000 });
    expect(await codeOf(modest.apply({ x: new Float64Array(100_000) }))).toBe("RESPONSE_TOO_LARGE");
    expect((await modest.apply({ x: [4] })).y.data).toEqual(Float64Array.of(4));
  });
});

describeWithRuntime("1.15", "a server that isn't there", () => {
  const unusedPort = async (): Promise<number> => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    await new Promise((resolve) => server.close(resolve));
    if (address === null || typeof address === "string") throw new Error("A port was expected.");
    return address.port;
  };

  test("is CONNECTION_FAILED, with where it was looked for", async () => {
    const url = `http://127.0.0.1:${await unusedPort()}`;
    const error = await errorOf(connect({ url, inputPath: "", outputPath: "" }));
    expect(error).toMatchObject({ code: "CONNECTION_FAILED" });
    expect(error.message).toContain(url);
  });

  test("any more is CONNECTION_LOST for the call in which it ended, which ran once, then CONNECTION_FAILED", {
    timeout: START_TIMEOUT,
  }, async () => {
    await using runtime = await startRuntime({ fixture: "faults" });
    await using client = await connect<Faults>(runtime);
    expect((await client.apply({ x: [1] })).calls).toBe(1);
    const error = await errorOf(client.apply({ action: "exit" }));
    expect(error).toMatchObject({ code: "CONNECTION_LOST" });
    expect(error.message).toContain(runtime.url);
    expect(await runtime.exited).toBe(1);
    expect(await runtime.calls()).toEqual(["apply return", "apply exit"]);
    expect(await codeOf(client.apply({}))).toBe("CONNECTION_FAILED");
    expect(await codeOf(client.health())).toBe("CONNECTION_FAILED");
    expect(await runtime.calls()).toHaveLength(2);
  });
});

describeWithRuntime("1.15", "an encoding that the server can't produce", () => {
  const runtime = runtimes.faults;
  const smoke = (): HostTransport => ({ ...base64(), name: "smoke" });

  test("is ENCODING_UNAVAILABLE, with what there is, before anything is sent", async () => {
    await using proxy = await startRecordingProxy(runtime().url);
    const error = await errorOf(connect({ ...runtime(), url: proxy.url }, { transports: [smoke()] }));
    expect(error).toMatchObject({ code: "ENCODING_UNAVAILABLE" });
    expect(error.hint).toContain("json+base64");
    expect(proxy.exchanges.map(({ path }) => path)).toEqual(["/openapi.json"]);
  });

  test("is ENCODING_UNAVAILABLE where only the server's 406 tells, and nothing has run", async () => {
    const before = await runtime().calls();
    await using proxy = await startRecordingProxy(runtime().url, (answer, path) =>
      path === "/openapi.json" ? answer.replace('"json+base64"', '"json+base64","json+smoke"') : answer,
    );
    await using client = await connect({ ...runtime(), url: proxy.url }, { transports: [smoke()] });
    const error = await errorOf(client.apply({ x: [1] }));
    expect(error).toMatchObject({ code: "ENCODING_UNAVAILABLE", status: 406 });
    expect(error.hint).toContain("formats: json, json+base64, json+binref");
    expect(await runtime().calls()).toEqual(before);
  });
});

describeWithRuntime("1.15", "a tampered answer", () => {
  const runtime = runtimes.identity;
  const sent = { arrays: [hostArray([1, 2, 3])] };

  const answeredWith = async (outputFormat: string, alter: (answer: string) => string): Promise<TesseractError> => {
    await using proxy = await startRecordingProxy(runtime().url, (answer, path) =>
      path.startsWith("/apply") ? alter(answer) : answer,
    );
    await using client = await connect<Identity>({ ...runtime(), url: proxy.url }, { outputFormat });
    return await errorOf(client.apply(sent));
  };
  /** An answer in binref whose reference is another. */
  const referringTo = (reference: string) =>
    answeredWith("json+binref", (answer) =>
      answer.replace(/"buffer":"[^"]*"/, `"buffer":${JSON.stringify(reference)}`),
    );

  test.each([
    "../input/secret.bin:0",
    "run_x/../../secret.bin:0",
    "/etc/passwd:0",
    "file:///etc/passwd:0",
    "http://127.0.0.1:1/secret.bin:0",
    "..",
    ".",
    "a\u0000b.bin:0",
  ])("with the reference %j is PATH_ESCAPE", async (reference) => {
    await writeFile(join(runtime().outputPath, "..", "secret.bin"), new Uint8Array(100));
    const error = await referringTo(reference);
    expect(error.code).toBe("PATH_ESCAPE");
    expect(error.message).toMatch(/^arrays\.\[0\]/);
  });

  test("with a symbolic link is PATH_ESCAPE, whether to a file or through a folder", async () => {
    const { outputPath } = runtime();
    const outside = join(outputPath, "..", "outside");
    await mkdir(outside);
    await writeFile(join(outside, "secret.bin"), new Uint8Array(100));
    await symlink(join(outside, "secret.bin"), join(outputPath, "link.bin"));
    await symlink(outside, join(outputPath, "folder"));
    expect((await referringTo("link.bin:0")).code).toBe("PATH_ESCAPE");
    expect((await referringTo("folder/secret.bin:0")).code).toBe("PATH_ESCAPE");
  });

  test("with a file that isn't there, or is none, is FILE_ERROR", async () => {
    await mkdir(join(runtime().outputPath, "directory"));
    for (const reference of ["missing.bin:0", "run_x/missing.bin", "directory:0"]) {
      expect((await referringTo(reference)).code).toBe("FILE_ERROR");
    }
  });

  test("with a file that is too short is DECODE_FAILED", async () => {
    const file = join(runtime().outputPath, "short.bin");
    await writeFile(file, new Uint8Array(23));
    expect((await referringTo("short.bin:0")).code).toBe("DECODE_FAILED");
    await truncate(file, 24);
    expect((await referringTo("short.bin:1")).code).toBe("DECODE_FAILED");
    expect((await referringTo("short.bin:99999999999999999999")).code).toBe("DECODE_FAILED");
    await unlink(file);
  });

  test.each<[problem: string, alter: (answer: string) => string, code: string]>([
    ["base64 that is cut short", (answer) => answer.replace(/"buffer":".{4}/, '"buffer":"'), "DECODE_FAILED"],
    ["more elements than its shape says", (answer) => answer.replace('"shape":[3]', '"shape":[2]'), "DECODE_FAILED"],
    [
      "more elements than there is memory for",
      (answer) => answer.replace("[3]", "[4503599627370495]"),
      "DECODE_FAILED",
    ],
    ["a shape that is none", (answer) => answer.replace("[3]", "[-3]"), "DECODE_FAILED"],
    [
      "bytes that aren't LZ4",
      (answer) => answer.replace('"encoding"', '"compression":"lz4","encoding"'),
      "DECODE_FAILED",
    ],
    [
      "an unknown compression",
      (answer) => answer.replace('"encoding"', '"compression":"zip","encoding"'),
      "DECODE_FAILED",
    ],
    ["no data", (answer) => answer.replace('"data"', '"date"'), "DECODE_FAILED"],
    ["an unknown dtype", (answer) => answer.replace("float64", "bfloat16"), "UNSUPPORTED_DTYPE"],
    [
      "an unknown encoding",
      (answer) => answer.replace('"encoding":"base64"', '"encoding":"smoke"'),
      "TRANSPORT_MISSING",
    ],
  ])("with %s is an error that names the place", async (_, alter, code) => {
    const error = await answeredWith("json+base64", alter);
    expect(error.code).toBe(code);
    expect(error.message).toContain("arrays.[0]");
  });

  test("with base64 that has other characters is DECODE_FAILED", async () => {
    const error = await answeredWith("json+base64", (answer) => answer.replace(/"buffer":"../, '"buffer":"*!'));
    expect(error.code).toBe("DECODE_FAILED");
  });

  test("in an encoding that no transport was passed for is TRANSPORT_MISSING", async () => {
    await using proxy = await startRecordingProxy(runtime().url, (answer) =>
      answer.replace(/"encoding":"json"/, '"encoding":"base64"'),
    );
    await using client = await connect<Identity>({ ...runtime(), url: proxy.url }, { transports: [json()] });
    const error = await errorOf(client.apply(sent));
    expect(error).toMatchObject({ code: "TRANSPORT_MISSING" });
    expect(error.hint).toContain("json");
  });
});

describeWithRuntime("1.15", "the input files of binref", () => {
  const runtime = runtimes.faults;
  const client = sharedClient<Faults>(runtime, { outputFormat: "json+binref" });
  const files = () => readdir(runtime().inputPath);
  const x = Float64Array.of(1, 2, 3);

  test("are there while a call runs, and used again for the next when it was answered, well or badly", async () => {
    const call = client().apply({ action: "sleep", seconds: 0.3, x });
    await expect.poll(files, { interval: 5 }).toHaveLength(1);
    const before = await files();
    expect((await call).y.data).toEqual(x);
    expect(await codeOf(client().apply({ action: "raise", x }))).toBe("SERVER_ERROR");
    expect(await codeOf(client().apply({ action: "nonsense" as "raise", x }))).toBe("VALIDATION_FAILED");
    const other = Float64Array.of(9, 8);
    expect((await client().apply({ action: "sleep", seconds: 0, x: other })).y.data).toEqual(other);
    expect(await files()).toEqual(before);
  });

  test("are gone when the Tesseract is closed", async () => {
    const { outputPath } = runtime();
    const inputPath = join(outputPath, "own");
    await mkdir(inputPath);
    const own = await connect<Faults>({ ...runtime(), inputPath }, { outputFormat: "json+binref" });
    // The server reads another directory, and says so.
    await codeOf(own.apply({ action: "sleep", seconds: 0, x }));
    expect(await readdir(inputPath)).toHaveLength(1);
    await own.close();
    expect(await readdir(inputPath)).toEqual([]);
  });

  test("are gone soon after a call was aborted or timed out", async () => {
    const controller = new AbortController();
    const call = codeOf(client().apply({ action: "sleep", seconds: 3, x }, { signal: controller.signal }));
    await expect.poll(files, { timeout: 30_000 }).toHaveLength(1);
    await sleep(150); // until the server is at it
    controller.abort();
    expect(await call).toBe("ABORTED");
    await expect.poll(files).toEqual([]);
    expect(await codeOf(client().apply({ action: "sleep", seconds: 0.3, x }, { timeout: 50 }))).toBe("TIMEOUT");
    await expect.poll(files).toEqual([]);
  });

  test("are gone when what follows them can't be sent", async () => {
    const cycle: Record<string, unknown> = { x };
    cycle.again = cycle;
    expect(await codeOf(client().apply(cycle))).toBe("INVALID_TREE");
    const controller = new AbortController();
    controller.abort();
    expect(await codeOf(client().apply({ x }, { signal: controller.signal }))).toBe("ABORTED");
    await sleep(20);
    expect(await files()).toEqual([]);
  });

  test("that can't be written are FILE_ERROR", async () => {
    const { outputPath } = runtime();
    const inputPath = join(outputPath, "nowhere");
    await using lost = await connect<Faults>(runtime(), {
      transports: [host({ inputPath, outputPath })],
      outputFormat: "json+binref",
    });
    expect(await codeOf(lost.apply({ x }))).toBe("FILE_ERROR");
  });

  test("without an outputPath the format is TRANSPORT_UNUSABLE", async () => {
    await using blind = await connect<Faults>(runtime(), { transports: [host()], outputFormat: "json+binref" });
    expect(await codeOf(blind.apply({ x }))).toBe("TRANSPORT_UNUSABLE");
  });
});
