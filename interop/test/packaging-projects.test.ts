// The packed packages, installed by npm into empty projects and used there: each alone with what it declares, and together from
// ES modules, CommonJS, TypeScript and a page that Vite builds.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from "vitest";
import { entryPoints, optionalPeers, type Package, type Packed, pack, packages } from "../src/packaging/packed.js";
import { install, lend, Offline } from "../src/packaging/project.js";
import { repositoryRoot } from "../src/python.js";

const run = promisify(execFile);
const tool = (path: string): string => join(repositoryRoot, "node_modules", path);

/** npm keeps one processor busy. */
const LANES = 2;

/** The project with all that a program on a server or in a browser uses. */
const TOGETHER = "together";
const CHROMIUM = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
];

const USED_TOGETHER = ["core", "transport-host", "inprocess", "serve"];

// Compilers and bundlers run here, on machines that may be busy.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let folder: string;
let offline: string | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-projects-"));
  const tarballs = await pack(folder);
  const waiting: (readonly [name: string, wanted: readonly Packed[]])[] = [
    ...tarballs.map((one) => [one.folder, [one]] as const),
    [TOGETHER, tarballs.filter((one) => USED_TOGETHER.includes(one.folder))],
  ];
  const lane = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      await install(join(folder, next[0]), next[1], tarballs);
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
  } catch (error) {
    if (!(error instanceof Offline)) throw error;
    offline = error.message;
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Outside CI, a test is skipped where there is no network. */
function needsRegistry(context: TestContext): void {
  if (offline === undefined) return;
  if (process.env.CI) throw new Error(offline);
  context.skip(offline);
}

describe.each(packages.map((one) => [one.manifest.name, one] as const))("%s, alone in a project", (_, one) => {
  // Outside of a package's `files`, so that what it finds is what is installed.
  const collect = `
    const said = {};
    const note = async (entry, load) => {
      try { said[entry] = Object.keys(await load(entry)).length; } catch (error) { said[entry] = error.code + " " + error.message; }
    };`;
  const say = "console.log(JSON.stringify(said));";

  test("is imported as ES modules", async (context) => {
    needsRegistry(context);
    const source = `${collect} for (const entry of ${JSON.stringify(entryPoints(one))}) await note(entry, (name) => import(name));${say}`;
    expectEach(one, await programSays(one.folder, "program.mjs", source), /^ERR_MODULE_NOT_FOUND /);
  });

  test("is required as CommonJS", async (context) => {
    needsRegistry(context);
    const entries = entryPoints(one).filter((entry) => hasRequire(one, entry));
    const source = `(async () => {${collect} for (const entry of ${JSON.stringify(entries)}) await note(entry, require);${say}})();`;
    expectEach(one, await programSays(one.folder, "program.cjs", source), /^MODULE_NOT_FOUND /);
  });

  if (one.manifest.bin === undefined) return;
  test("runs its commands", async (context) => {
    needsRegistry(context);
    for (const name of Object.keys(one.manifest.bin ?? {})) {
      const { stdout } = await run(join(folder, one.folder, "node_modules/.bin", name), ["--help"]);
      expect(stdout).toContain(name);
    }
  });
});

async function programSays(project: string, name: string, source: string): Promise<Record<string, unknown>> {
  const file = join(folder, project, name);
  await writeFile(file, source);
  return JSON.parse((await run(process.execPath, [file], { cwd: join(folder, project) })).stdout) as Record<
    string,
    unknown
  >;
}

/** Each entry point has names, or lacks a peer that a program may do without. */
function expectEach(one: Package, said: Readonly<Record<string, unknown>>, missing: RegExp): void {
  expect(Object.keys(said).length).toBeGreaterThan(0);
  for (const [entry, what] of Object.entries(said)) {
    if (typeof what === "number") expect(what, entry).toBeGreaterThan(0);
    else {
      expect(what, entry).toMatch(missing);
      expect(
        optionalPeers(one).some((peer) => String(what).includes(`'${peer}'`)),
        String(what),
      ).toBe(true);
    }
  }
}

function hasRequire({ manifest }: Package, entry: string): boolean {
  const target = manifest.exports?.[`.${entry.slice(manifest.name.length)}`];
  return typeof target === "object" && target !== null && "require" in target;
}

// A Tesseract that is served, and called over HTTP.
const program = `
import { fromUrl, type HostArray } from "@tesseract-ts/core";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { serve } from "@tesseract-ts/serve";
import { host } from "@tesseract-ts/transport-host";
import { z } from "zod";

const scale = defineTesseract({
  name: "scale",
  inputs: z.object({ x: array("float64", [null]), factor: z.number().default(2) }),
  outputs: z.object({ y: array("float64", [null]) }),
  apply: ({ x, factor }) => ({ y: x.data.map((value: number) => value * factor) }),
});

async function main(): Promise<void> {
  await using served = await serve(scale, { port: 0 });
  await using tess = await fromUrl(served.url, { transports: [host()] });
  const outputs = await tess.apply({ x: [1, 2, 3] });
  const y = outputs["y"] as HostArray;
  console.log(y.dtype, [...(y.data as Float64Array)].join(" "));
}
void main();
`;

const compilerOptions = {
  strict: true,
  target: "ES2022",
  lib: ["ES2022", "ESNext.Disposable", "DOM"],
  types: ["node"],
  skipLibCheck: true, // ours are checked whole in packages/core/test; those of dependencies aren't ours
};

describe("together in a TypeScript project", () => {
  const project = (): string => join(folder, TOGETHER);
  // As the development dependencies name them.
  const compilers = { "TypeScript 5.9": "typescript", "TypeScript 7.0": "typescript-7" } as const;
  type Compiler = keyof typeof compilers;

  const compile = async (
    compiler: Compiler,
    files: readonly string[],
    options: { readonly moduleResolution: string } & Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    const tsc = tool(`${compilers[compiler]}/bin/tsc`);
    const { stdout: version } = await run(process.execPath, [tsc, "--version"]);
    expect(version).toContain(compiler.replace("TypeScript", "Version"));
    const config = join(project(), `tsconfig.${options.moduleResolution}.json`);
    await writeFile(config, JSON.stringify({ compilerOptions: { ...compilerOptions, ...options }, files }));
    await run(process.execPath, [tsc, "-p", config]).catch((error) => {
      throw new Error(String((error as { stdout: string }).stdout));
    });
  };

  beforeAll(async () => {
    if (offline !== undefined) return;
    for (const name of ["@types/node", "undici-types"]) await lend(project(), name);
  });

  describe.each(Object.keys(compilers) as Compiler[])("%s", (compiler) => {
    test("`moduleResolution: node16`, as ES modules and as CommonJS, serves and calls a Tesseract", async (context) => {
      needsRegistry(context);
      await writeFile(join(project(), "esm.mts"), program);
      await writeFile(join(project(), "commonjs.cts"), program);
      await compile(compiler, ["esm.mts", "commonjs.cts"], {
        module: "node16",
        moduleResolution: "node16",
        outDir: "built",
      });
      for (const name of ["esm.mjs", "commonjs.cjs"]) {
        const { stdout } = await run(process.execPath, [join(project(), "built", name)], { cwd: project() });
        await rm(join(project(), "built", name));
        expect(stdout, name).toBe("float64 2 4 6\n");
      }
    });

    test("`moduleResolution: bundler` finds the types", async (context) => {
      needsRegistry(context);
      await writeFile(join(project(), "bundler.ts"), program);
      await compile(compiler, ["bundler.ts"], { module: "ESNext", moduleResolution: "bundler", noEmit: true });
    });
  });

  test("Vite builds a page of core and transport-host that has nothing of Node in it", async (context) => {
    needsRegistry(context);
    const page = join(project(), "page");
    await mkdir(page, { recursive: true });
    await writeFile(join(page, "index.html"), `<!doctype html><script type="module" src="./main.js"></script>`);
    const source = `
      import { fromUrl, hostArray, TesseractError } from "@tesseract-ts/core";
      import { host } from "@tesseract-ts/transport-host";
      const [base64] = host();
      const { arrays } = await base64.encode([hostArray([1, 2, 3])], { compression: "lz4" });
      const error = await fromUrl("http://127.0.0.1:9", { transports: [host()] }).catch((error) => error);
      globalThis.said = [arrays[0].data.compression, error instanceof TesseractError, error.code];`;
    await writeFile(join(page, "main.js"), source);
    await run(process.execPath, [tool("vite/bin/vite.js"), "build", "--logLevel", "warn", "--base", "./"], {
      cwd: page,
    });
    const assets = join(page, "dist/assets");
    const [script = ""] = await readdir(assets);
    const text = await readFile(join(assets, script), "utf8");
    expect(text).not.toMatch(/node:|undici|__vite-browser-external/);
    expect(await inBrowser(context, join(page, "dist"))).toEqual(["lz4", true, "CONNECTION_FAILED"]);
  });
});

/** What the page in a folder leaves in `said`, in a headless Chromium. */
async function inBrowser(context: TestContext, page: string): Promise<unknown> {
  const executablePath = process.env.TESSERACT_CHROMIUM ?? CHROMIUM.find((path) => existsSync(path));
  if (executablePath === undefined) {
    if (process.env.CI) throw new Error("No Chromium");
    return context.skip("No Chromium: install one, or say where it is in TESSERACT_CHROMIUM");
  }
  const server = createServer((request, response) => {
    const path = request.url === "/" ? "index.html" : `.${request.url}`;
    const type = path.endsWith(".html") ? "text/html" : "text/javascript";
    readFile(join(page, path)).then(
      (content) => response.writeHead(200, { "content-type": type }).end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const args = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"];
  const browser = await chromium.launch({ executablePath, args });
  try {
    const tab = await browser.newPage();
    await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    return await (await tab.waitForFunction("globalThis.said")).jsonValue();
  } finally {
    await browser.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
