// docs/errors.md: it has every code, with what it means, an example and what to do; and its examples bring about their codes, as
// far as this takes no GPU, no container engine and no other machine.

import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { numpy as np } from "@jax-js/jax";
import { fromUrl, hostArray, type Tesseract, TesseractError } from "@tesseract-ts/core";
import { array, defineTesseract, differentiable, fromTesseractApi } from "@tesseract-ts/inprocess";
import { applyTesseract, grad, vmap } from "@tesseract-ts/jax-bridge";
import { buildImage, fromSource, serve } from "@tesseract-ts/serve";
import { cudaIpc, DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import { host } from "@tesseract-ts/transport-host";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { readPage } from "../src/documentation/pages.js";
import { type LocalServer, serveLocally } from "../src/local-server.js";
import { repositoryRoot } from "../src/python.js";

interface Entry {
  readonly codes: readonly string[];
  readonly text: string;
}

const entries: readonly Entry[] = (await readPage("docs/errors.md"))
  .split(/^### /m)
  .slice(1)
  .map((part) => {
    const [title = "", ...lines] = part.split(/^## /m)[0]?.split("\n") ?? [];
    return { codes: title.split(", "), text: lines.join("\n") };
  });

test("it has every code of core's, and no other", async () => {
  const text = await readPage("packages/core/src/errors.ts");
  const source = ts.createSourceFile("errors.ts", text, ts.ScriptTarget.ES2022, true);
  const union = source.statements.find(
    (each): each is ts.TypeAliasDeclaration => ts.isTypeAliasDeclaration(each) && each.name.text === "ErrorCode",
  );
  const codes = [...(union?.type.getText().matchAll(/^\s*\| "([A-Z_]+)"/gm) ?? [])].map(([, code]) => code);
  expect(codes.length).toBeGreaterThan(45);
  expect(entries.flatMap((entry) => entry.codes).sort()).toEqual([...codes].sort());
});

test.each(entries.map(({ codes, text }) => [codes.join(", "), text] as const))(
  "%s: what it means, an example, what to do",
  (_, text) => {
    expect(text.trim().split("\n")[0]).toMatch(/^[A-Z`].{15,}/);
    expect(text.match(/^- \*Such as:\* \S.{8,}/gm)).toHaveLength(1);
    expect(text.match(/^- \*Do:\* \S.{8,}/gm)).toHaveLength(1);
  },
);

const file = fileURLToPath(new URL("../src/documentation/on-gpu.mjs", import.meta.url));
const vector = () => array("float64", [null]);

const scale = defineTesseract({
  name: "scale",
  inputs: z.object({ x: differentiable(vector()), factor: z.number().default(2), steps: vector().optional() }),
  outputs: z.object({ y: differentiable(vector()) }),
  apply: ({ x, factor }) => ({ y: x.data.map((value) => value * factor) }),
  vectorJacobianProduct: ({ inputs, cotangents }) => ({ x: cotangents.y.data.map((value) => value * inputs.factor) }),
  abstractEval: ({ x }) => ({ y: x }),
});

/** An endpoint that goes wrong in a way of its own. */
const faulty = (apply: (x: Float64Array) => unknown) =>
  defineTesseract({
    name: "faulty",
    inputs: z.object({ x: vector() }),
    outputs: z.object({ y: vector() }),
    apply: ({ x }) => apply(x.data) as { y: Float64Array },
  });

describe("its examples", () => {
  let tess: Tesseract;
  let url: string;
  let end: () => Promise<void>;
  const local = new Map<string, LocalServer>();

  beforeAll(async () => {
    const served = await serve(scale, { port: 0, transports: [host()] });
    const openapi = await (await fetch(`${served.url}/openapi.json`)).text();
    const answering = (status: number, text: string, type = "application/json") =>
      serveLocally(({ method }, response) => {
        if (method === "GET") response.writeHead(200, { "content-type": "application/json" }).end(openapi);
        else if (status === 0) response.destroy();
        else if (status > 0) response.writeHead(status, { "content-type": type }).end(text);
      });
    for (const [name, server] of Object.entries({
      ending: answering(0, ""),
      silent: answering(-1, ""),
      failing: answering(500, "Internal Server Error", "text/plain"),
      damaged: answering(
        200,
        '{"y":{"object_type":"array","shape":[2],"dtype":"float64","data":{"encoding":"base64","buffer":"AAAA"}}}',
      ),
      escaping: answering(
        200,
        '{"y":{"object_type":"array","shape":[2],"dtype":"float64","data":{"encoding":"binref","buffer":"../x:0"}}}',
      ),
      loginPage: serveLocally((_, response) => {
        response.writeHead(200, { "content-type": "text/html" }).end("<html>Who are you?</html>");
      }),
      offering: serveLocally((_, response) => {
        const document = { ...JSON.parse(openapi), "x-supported-gpu-transports": ["none", "cuda_ipc"] };
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
      }),
      old: serveLocally((_, response) => {
        const all = Object.entries(JSON.parse(openapi)).filter(([name]) => !name.startsWith("x-supported"));
        response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(Object.fromEntries(all)));
      }),
    }))
      local.set(name, await server);
    url = served.url;
    tess = await fromUrl(url, { transports: [host()] });
    end = async () => {
      await tess.close();
      await served.close();
      await Promise.all([...local.values()].map((server) => server[Symbol.asyncDispose]()));
    };
  });
  afterAll(() => end?.());

  const inputs = { x: [1, 2] };
  const at = (name: string): string => local.get(name)?.url ?? "";
  const applied = async (address: string, options: Partial<Parameters<typeof fromUrl>[1]> = {}): Promise<unknown> => {
    await using other = await fromUrl(address, { transports: [host()], ...options });
    return await other.apply(inputs);
  };
  const inProcess = async (apply: (x: Float64Array) => unknown, development = false): Promise<unknown> => {
    await using other = await fromTesseractApi(faulty(apply), { development });
    return await other.apply({ x: new Float64Array([3, 2]) });
  };
  const called = (x: np.Array): np.Array => applyTesseract(tess, { x }).y as np.Array;
  const vectorOf = (): np.Array => np.array([1, 2]);

  const examples: Readonly<Record<string, () => unknown>> = {
    INVALID_URL: () => fromUrl("localhost:8000", { transports: [host()] }),
    INVALID_ARGUMENT: () => tess.apply(inputs, { timeout: 0 }),
    INVALID_TREE: () => tess.apply({ x: [1, Number.NaN] }),
    INVALID_ARRAY: () => hostArray(new Float64Array(5), { shape: [2, 3] }),
    UNSUPPORTED_DTYPE: () => hostArray([1, 2], { dtype: "bfloat16" as "float32" }),
    ENCODING_UNAVAILABLE: () => applied(url, { transports: [cudaIpc(), host()], gpuTransport: "cuda_ipc" }),
    RUNTIME_TOO_OLD: () => applied(at("old"), { compression: "lz4" }),
    TRANSPORT_MISSING: () => applied(at("offering"), { gpuTransport: "cuda_ipc" }),
    TRANSPORT_UNUSABLE: () => applied(url, { outputFormat: "json+binref" }),
    CUDA_UNAVAILABLE: () => {
      // Wherever the tests run.
      vi.stubEnv("TESSERACT_CUDA_DRIVER", "libnowhere.so.9");
      return DeviceArray.fromHost(new Float64Array(1));
    },
    CONNECTION_FAILED: () => applied("http://127.0.0.1:1"),
    CONNECTION_LOST: () => applied(at("ending")),
    TIMEOUT: () => applied(at("silent"), { timeout: 200 }),
    ABORTED: () => tess.apply(inputs, { signal: AbortSignal.abort() }),
    CLOSED: async () => {
      const other = await fromUrl(url, { transports: [host()] });
      await other.close();
      return await other.apply(inputs);
    },
    ENDPOINT_NOT_FOUND: () => tess.jacobian(inputs, ["x"], ["y"]),
    VALIDATION_FAILED: () => tess.apply({ ...inputs, factor: "two" }),
    SERVER_ERROR: () => applied(at("failing")),
    MALFORMED_RESPONSE: () => applied(at("loginPage")),
    RESPONSE_TOO_LARGE: () => applied(url, { maxResponseBytes: 10 }),
    DECODE_FAILED: () => applied(at("damaged")),
    PATH_ESCAPE: () => applied(at("escaping"), { transports: [host({ outputPath: "/tmp" })] }),
    FILE_ERROR: async () => {
      const outputPath = await mkdtemp(join(tmpdir(), "documentation-errors-"));
      try {
        await using served = await serve(scale, { port: 0, outputPath });
        return await applied(served.url, {
          transports: [host({ outputPath: "/nowhere" })],
          outputFormat: "json+binref",
        });
      } finally {
        await rm(outputPath, { recursive: true, force: true });
      }
    },
    ENDPOINT_FAILED: () => inProcess((x) => ({ y: Object(x).nothing.length })),
    INVALID_OUTPUTS: () => inProcess(() => ({})),
    INPUT_CHANGED: () => inProcess((x) => ({ y: x.sort() }), true),
    LOAD_FAILED: () => fromTesseractApi("./nowhere.ts"),
    PORT_TAKEN: async () => {
      const taken = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => taken.once("listening", resolve));
      try {
        const { port } = taken.address() as { port: number };
        await using started = await fromSource(file, { port });
        return started;
      } finally {
        taken.close();
      }
    },
    ENVIRONMENT_FAILED: () =>
      fromSource(join(repositoryRoot, "examples/heat/tesseract_api.py"), { pythonExecutable: "nowhere/python" }),
    ENGINE_UNAVAILABLE: () => buildImage(file, { tag: "x", engine: "nowhere" }),
    NOT_DIFFERENTIABLE: () =>
      grad((x: np.Array) => np.sum(applyTesseract(tess, { x: [1, 2], steps: x }).y as np.Array))(vectorOf()),
    SECOND_DERIVATIVE: () =>
      grad((x: np.Array) => np.sum(np.square(grad((v: np.Array) => np.sum(np.square(called(v))))(x) as never)))(
        vectorOf(),
      ),
    VMAP_METHOD_MISSING: () => vmap(called)(np.array([[1], [2]])),
    VALUE_UNKNOWN: () =>
      grad((x: np.Array) => ((x.ref.js() as number[])[0] ? np.sum(called(x)) : np.sum(x)))(vectorOf()),
    ARRAY_CONSUMED: () => grad((x: np.Array) => np.sum(called(x.mul(x))))(vectorOf()),
    AWAIT_MISSING: () => applyTesseract(tess, { x: [1] }).y,
  };

  test.each(Object.entries(examples))("%s", async (code, example) => {
    const outcome = await Promise.resolve()
      .then(example)
      .then(
        (value) => value,
        (error: unknown) => error,
      );
    expect(outcome).toBeInstanceOf(TesseractError);
    expect((outcome as TesseractError).code, String(outcome)).toBe(code);
  });
});
