// The client in a browser: what a bundler makes of it, in a headless Chromium, against the reference runtime.

import { existsSync } from "node:fs";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createGzip } from "node:zlib";
import type { FromUrlOptions, Tesseract } from "@tesseract-ts/core";
import { build } from "esbuild";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromiumArguments, chromiumPath, missingChromium } from "../src/chromium.js";
import { repositoryRoot } from "../src/python.js";
import { type Runtime, startRuntime } from "../src/runtime.js";
import { describeWithRuntime, START_TIMEOUT } from "../src/with-runtime.js";

/** What the page's script makes known to the functions below that run in the page. */
type Client = typeof import("@tesseract-ts/core") &
  typeof import("@tesseract-ts/transport-host") & {
    /** Runs `work` with a Tesseract of the page's origin, which is closed then. */
    withTesseract<T>(options: Partial<FromUrlOptions>, work: (tess: Tesseract) => Promise<T>): Promise<T>;
  };
declare const client: Client;

const script = `
  import * as core from "@tesseract-ts/core";
  import * as transports from "@tesseract-ts/transport-host";
  const { fromUrl, host } = { ...core, ...transports };
  async function withTesseract(options, work) {
    await using tess = await fromUrl(location.origin, { transports: [host()], ...options });
    return await work(tess);
  }
  globalThis.client = { ...core, ...transports, withTesseract };
`;

/** The packages and the page's script as one file, from the sources or from what is built. */
async function bundle(conditions: string[]): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: join(repositoryRoot, "interop") },
    bundle: true,
    write: false,
    platform: "browser",
    format: "esm",
    target: "es2022",
    conditions,
  });
  const [file] = outputFiles;
  if (file === undefined) throw new Error("esbuild made no file");
  return file.text;
}

/** Serves a page, and the Tesseract at `target` below several paths. */
class Site {
  readonly #server = createServer((incoming, response) => this.#answer(incoming, response));
  /** Calls below `/stuck`, which are never answered, and whether they were given up. */
  readonly stuck: { givenUp: boolean }[] = [];
  /** The media types and codings of the answers that went through. */
  readonly answered: { readonly path: string; readonly type: string | undefined; readonly coding: string }[] = [];

  constructor(
    readonly target: string,
    readonly program: string,
  ) {}

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(incoming: IncomingMessage, response: ServerResponse): void {
    const [, prefix, path] = /^\/(tesseract|gzip|stuck|moved)(\/.*)$/.exec(incoming.url ?? "") ?? [];
    if (incoming.url === "/") {
      send(response, "text/html", '<script type="module" src="/client.js"></script>');
      return;
    }
    if (incoming.url === "/client.js") {
      send(response, "text/javascript", this.program);
      return;
    }
    if (path === undefined) return void response.writeHead(404).end();
    if (prefix === "moved") return void response.writeHead(307, { location: `/tesseract${path}` }).end();
    if (prefix === "stuck" && incoming.method === "POST") {
      const call = { givenUp: false };
      this.stuck.push(call);
      incoming.resume();
      response.on("close", () => {
        call.givenUp = true;
      });
      return;
    }
    const forwarded = request(
      this.target + path,
      { method: incoming.method, headers: { ...incoming.headers, host: new URL(this.target).host } },
      (answer) => {
        const compressed = prefix === "gzip";
        const { "content-length": _, ...headers } = answer.headers;
        this.answered.push({ path, type: headers["content-type"], coding: compressed ? "gzip" : "identity" });
        response.writeHead(
          answer.statusCode ?? 502,
          compressed ? { ...headers, "content-encoding": "gzip" } : answer.headers,
        );
        if (compressed) answer.pipe(createGzip()).pipe(response);
        else answer.pipe(response);
      },
    );
    forwarded.on("error", () => response.destroy());
    incoming.pipe(forwarded);
  }
}

const send = (response: ServerResponse, type: string, body: string): void =>
  void response.writeHead(200, { "content-type": type }).end(body);

describe("a bundle for browsers", () => {
  const built = existsSync(join(repositoryRoot, "packages/core/dist/index.js"));

  test("of the sources has nothing of Node in it", async () => expectNothingOfNode(await bundle(["source"])));

  test("of what is published has nothing of Node in it", async (context) => {
    if (!built && !process.env.CI) return context.skip("The packages aren't built: npm run build");
    expectNothingOfNode(await bundle([]));
  });

  function expectNothingOfNode(text: string): void {
    expect(text).not.toMatch(/["']node:/);
    expect(text).not.toMatch(/undici/i);
    expect(text).not.toMatch(/\b__require\b/);
    expect(text).not.toMatch(/\bBuffer\b/);
    expect(text.length).toBeLessThan(200_000);
  }
});

describeWithRuntime("1.15", "in a browser", () => {
  if (chromiumPath === undefined) {
    test("needs a Chromium", (context) => {
      if (process.env.CI) throw new Error(missingChromium);
      context.skip(missingChromium);
    });
    return;
  }
  const executablePath = chromiumPath;
  let runtime: Runtime;
  let site: Site;
  let browser: Browser;
  let page: Page;
  const failures: string[] = [];

  beforeAll(async () => {
    runtime = await startRuntime({ fixture: "identity" });
    site = new Site(runtime.url, await bundle(["source"]));
    const origin = await site.start();
    // With no profile given it uses a fresh one, and removes it.
    browser = await chromium.launch({ executablePath, args: chromiumArguments });
    page = await browser.newPage();
    page.on("pageerror", (error) => failures.push(String(error)));
    await page.goto(origin);
    await page.waitForFunction(() => "client" in globalThis);
  }, START_TIMEOUT);
  afterAll(async () => {
    await browser?.close();
    await site?.stop();
    await runtime?.stop();
  });

  const formats = [
    ["json+base64", "none"],
    ["json+base64", "lz4"],
    ["json", "none"],
  ] as const;

  test.each(formats)(
    "arrays of every dtype come back, as %s with compression %s",
    async (outputFormat, compression) => {
      const found = await page.evaluate(
        async (encoding) => {
          const { dtypes, hostArray, isHostArray, makeHostArray, itemSize, viewAs, bytesOf, withTesseract } = client;
          const arrays = dtypes.map((dtype) => {
            const bytes = new Uint8Array(6 * itemSize(dtype)).map((_, i) =>
              dtype === "bool" ? i & 1 : (i * 37) & 0x3b,
            );
            return makeHostArray(dtype, [2, 3], viewAs(dtype, bytes.buffer));
          });
          const named = { whole: hostArray(new Float64Array([1, -0, 1e300])), none: hostArray(new Int8Array(0)) };
          const sent = { arrays, named };
          const received = await withTesseract({ basePath: "/tesseract", ...encoding }, (tess) => tess.apply(sent));
          const text = (tree: unknown): string =>
            JSON.stringify(tree, (_, value: unknown) =>
              isHostArray(value) ? [value.dtype, value.shape, value.data.constructor.name, [...bytesOf(value)]] : value,
            );
          return { sent: text(sent), received: text(received) };
        },
        { outputFormat, compression },
      );
      expect(found.received).toBe(found.sent);
      expect(found.received).toContain('["complex128",[2,3],"Float64Array",[');
      expect(site.answered.at(-1)?.type).toBe(`application/${outputFormat}`);
    },
  );

  test("64-bit integers are bigints, to the last digit", async () => {
    const found = await page.evaluate(async () => {
      const { base64, hostArray, isHostArray, json, toNestedList, withTesseract } = client;
      const texts: string[] = [];
      for (const transport of [base64(), json()]) {
        const arrays = [hostArray([2n ** 63n - 1n, -(2n ** 63n), 9007199254740993n])];
        const answer: { arrays?: unknown } = await withTesseract(
          { basePath: "/tesseract", transports: [transport] },
          (tess) => tess.apply({ arrays }),
        );
        const [array]: unknown[] = Array.isArray(answer.arrays) ? answer.arrays : [];
        if (!isHostArray(array)) throw new Error("no array");
        texts.push(`${array.dtype} ${array.data.constructor.name} ${toNestedList(array)}`);
      }
      return texts;
    });
    const expected = "int64 BigInt64Array 9223372036854775807,-9223372036854775808,9007199254740993";
    expect(found).toEqual([expected, expected]);
  });

  test.each(["/tesseract", "/gzip"])("an array of megabytes goes there and back below %s", async (basePath) => {
    const found = await page.evaluate(async (basePath) => {
      const { hostArray, isHostArray, withTesseract } = client;
      const numbers = Float64Array.from({ length: 500_000 }, (_, i) => Math.sin(i));
      const arrays = [hostArray(numbers, { shape: [500, 1000] })];
      const answer: { arrays?: unknown } = await withTesseract({ basePath }, (tess) => tess.apply({ arrays }));
      const [array]: unknown[] = Array.isArray(answer.arrays) ? answer.arrays : [];
      if (!isHostArray(array)) throw new Error("no array");
      return { shape: array.shape, equal: numbers.every((value, i) => value === array.data[i]) };
    }, basePath);
    expect(found).toEqual({ shape: [500, 1000], equal: true });
    expect(site.answered.at(-1)).toMatchObject({ path: "/apply", coding: basePath === "/gzip" ? "gzip" : "identity" });
  });

  test("a call that is given up ends at once, and its request too", async () => {
    const found = await page.evaluate(async () => {
      const { TesseractError, withTesseract } = client;
      const codeOf = (error: unknown): string => (error instanceof TesseractError ? error.code : String(error));
      return await withTesseract({ basePath: "/stuck" }, async (tess) => {
        const controller = new AbortController();
        setTimeout(() => controller.abort(), 500);
        const inputs = { arrays: [new Float32Array(10)] };
        const start = performance.now();
        const codes = [
          await tess.apply(inputs, { signal: controller.signal }).then(() => "none", codeOf),
          await tess.apply(inputs, { timeout: 500 }).then(() => "none", codeOf),
        ];
        setTimeout(() => tess.close(), 500);
        codes.push(await tess.apply(inputs).then(() => "none", codeOf));
        return { codes, took: performance.now() - start };
      });
    });
    expect(found.codes).toEqual(["ABORTED", "TIMEOUT", "CLOSED"]);
    expect(found.took).toBeLessThan(30_000);
    await expect
      .poll(() => site.stuck, { timeout: 60_000 })
      .toEqual([{ givenUp: true }, { givenUp: true }, { givenUp: true }]);
  });

  test("what goes wrong is a TesseractError with its code", async () => {
    const found = await page.evaluate(async () => {
      const { binref, fromUrl, host, TesseractError, withTesseract } = client;
      const failure = (work: Promise<unknown>) =>
        work.then(
          () => "none",
          (error: unknown) =>
            error instanceof TesseractError
              ? { code: error.code, message: error.message, hint: error.hint }
              : String(error),
        );
      const connecting = (options: Partial<FromUrlOptions>) => failure(withTesseract(options, async () => {}));
      const basePath = "/tesseract";
      return {
        ...(await withTesseract({ basePath }, async (tess) => ({
          invalid: await failure(tess.apply({ arrays: ["abc"] })),
          nan: await failure(tess.apply({ named: { x: Number.NaN } })),
          files: await failure(tess.withEncoding({ outputFormat: "json+binref" }).apply({ arrays: [] })),
        }))),
        onlyFiles: await connecting({ basePath, transports: [binref()] }),
        nothing: await connecting({}),
        moved: await connecting({ basePath: "/moved" }),
        refused: await failure(fromUrl("http://127.0.0.1:9", { transports: [host()] })),
      };
    });
    expect(found).toMatchObject({
      invalid: { code: "VALIDATION_FAILED", message: expect.stringContaining("body.inputs.arrays.0") },
      nan: { code: "INVALID_TREE", message: expect.stringContaining("inputs.named.x") },
      files: { code: "TRANSPORT_UNUSABLE", hint: expect.stringContaining("base64") },
      onlyFiles: { code: "ENCODING_UNAVAILABLE", hint: expect.stringContaining("there are no files here") },
      nothing: { code: "ENDPOINT_NOT_FOUND" },
      moved: { code: "SERVER_ERROR", message: expect.stringContaining("redirect") },
      refused: { code: "CONNECTION_FAILED", hint: expect.stringContaining("CORS") },
    });
  });

  test("nothing else went wrong in the page", () => {
    expect(failures).toEqual([]);
  });
});
