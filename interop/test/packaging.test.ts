// What `npm publish` would publish: what is in it, what it needs, how large it is, and that it works where it is installed, as
// ESM and as CommonJS, with nothing of this repository.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire, isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build } from "esbuild";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { unmeant } from "../src/packaging/meant.js";
import { entryPoints, type Package, type Packed, pack, packages, unpack } from "../src/packaging/packed.js";
import { firstLoadSize, gzippedSize } from "../src/packaging/sizes.js";
import { repositoryRoot } from "../src/python.js";

const run = promisify(execFile);

// Compilers and bundlers run here, on machines that may be busy.
vi.setConfig({ testTimeout: 600_000, hookTimeout: 600_000 });

let folder: string;
let packed: ReadonlyMap<string, Packed>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-packaging-"));
  packed = new Map((await pack(folder)).map((one) => [one.folder, one]));
  for (const { manifest, tarball } of packed.values()) {
    await mkdir(installed(manifest.name), { recursive: true });
    await unpack(tarball, installed(manifest.name));
    for (const name of Object.keys(manifest.dependencies ?? {})) await link(name, manifest.name);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const installed = (name: string): string => join(folder, "node_modules", name);

/** Gives a package the dependency that its folder here has. */
async function link(dependency: string, dependent: string): Promise<void> {
  if (packages.some(({ manifest }) => manifest.name === dependency)) return;
  const target = join(installed(dependent), "node_modules", dependency);
  await mkdir(dirname(target), { recursive: true });
  const places = createRequire(join(repositoryRoot, "packages", folderOf(dependent), "package.json")).resolve.paths(
    dependency,
  );
  const source = (places ?? []).map((place) => join(place, dependency)).find((path) => existsSync(path));
  if (source === undefined) throw new Error(`${dependent} isn't installed here with its ${dependency}`);
  await symlink(source, target);
}

const folderOf = (name: string): string => packages.find(({ manifest }) => manifest.name === name)?.folder ?? "";

function tarballOf({ folder }: Package): Packed {
  const one = packed.get(folder);
  if (one === undefined) throw new Error(`${folder} isn't packed`);
  return one;
}

describe.each(packages.map((one) => [one.manifest.name, one] as const))("%s", (name, one) => {
  test("has in its tarball what is meant to be there, and nothing else", () => {
    const paths = tarballOf(one).files.map(({ path }) => path);
    expect(unmeant(one.folder, paths)).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    // Every file that the manifest names.
    const named = namedIn(one.manifest);
    expect(named.length).toBeGreaterThan(0);
    expect(paths).toEqual(expect.arrayContaining(named));
  });

  test("has no source map in its tarball, and names none", async () => {
    const paths = tarballOf(one).files.map(({ path }) => path);
    expect(paths.filter((path) => /\.[cm]?[jt]s\.map$/.test(path))).toEqual([]);
    for (const path of paths.filter((path) => path.startsWith("dist/"))) {
      const text = await readFile(join(installed(name), path), "utf8");
      expect(text.includes("//# sourceMappingURL="), path).toBe(false);
    }
  });

  test("tells bundlers which of its files do something by themselves", async () => {
    const paths = tarballOf(one).files.map(({ path }) => path);
    const declared = one.manifest.sideEffects;
    const effective = (declared === false ? [] : (declared ?? [])).map((path) => posix.normalize(path));
    expect(paths).toEqual(expect.arrayContaining(effective));
    // Threads and processes begin with files that no other one imports. What the manifest names may be imported.
    const built = paths.filter((path) => /^dist\/.+\.js$/.test(path));
    const { exports = {}, imports = {}, bin = {} } = one.manifest;
    const others = new Set(namedIn({ exports, imports }));
    for (const path of built) {
      const text = await readFile(join(installed(name), path), "utf8");
      for (const { fileName } of ts.preProcessFile(text, true, true).importedFiles) {
        if (fileName.startsWith(".")) others.add(posix.join(posix.dirname(path), fileName));
      }
    }
    const begun = built.filter((path) => !others.has(path));
    expect([...begun, ...namedIn(bin)].filter((path) => !effective.includes(path))).toEqual([]);
    expect(await bundled(name, one.manifest.module ?? "")).toBe("");
    for (const path of effective) {
      if (path.startsWith("dist/")) expect(await bundled(name, path), path).not.toBe("");
    }
  });

  test("imports only what it declares", async () => {
    const { dependencies, peerDependencies, imports } = one.manifest;
    const declared = new Set(Object.keys({ ...dependencies, ...peerDependencies, ...imports, [name]: "" }));
    const built = tarballOf(one).files.filter(({ path }) => /^dist\/.+\.(js|cjs|d\.ts|d\.cts)$/.test(path));
    for (const { path } of built) {
      const text = await readFile(join(installed(name), path), "utf8");
      const specifiers = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
      const foreign = specifiers.filter((specifier) => !specifier.startsWith(".") && !isBuiltin(specifier));
      expect(
        foreign.map(packageOf).filter((imported) => !declared.has(imported)),
        path,
      ).toEqual([]);
    }
  });

  test("asks for other packages of ours in a way that the next release keeps", () => {
    const ofOurs = (needs: Readonly<Record<string, string>> = {}): string[] =>
      Object.entries(needs).flatMap(([needed, range]) => (needed.startsWith("@tesseract-ts/") ? [range] : []));
    // Lerna raises exact dependencies with the version of all, and leaves peer dependencies as they are.
    for (const range of ofOurs(one.manifest.dependencies)) expect(range).toBe(one.manifest.version);
    for (const range of ofOurs(one.manifest.peerDependencies)) expect(range).toMatch(/^>=\d+\.\d+\.\d+ <\d+\.0\.0$/);
  });

  test("satisfies publint", async () => {
    const { buffer, byteOffset, byteLength } = await readFile(tarballOf(one).tarball);
    const tarball = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
    const { messages, pkg } = await publint({ pack: { tarball } });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  test("has types that are right for ES modules, for CommonJS and for bundlers", async () => {
    const bytes = new Uint8Array(await readFile(tarballOf(one).tarball));
    const result = await checkPackage(createPackageFromTarballData(bytes));
    if (result.types === false) throw new Error("it has no types");
    const problems = result.problems.filter((problem) => {
      if (!("resolutionKind" in problem)) return true;
      // `moduleResolution: node10` knows no `exports`. Where there is no `require`, the dependency has none either.
      return (
        problem.resolutionKind !== "node10" &&
        !(problem.resolutionKind === "node16-cjs" && isEsmOnly(one, problem.entrypoint))
      );
    });
    expect(problems).toEqual([]);
  });
});

/** The files of `dist` and `src` that a part of the manifest names. */
const namedIn = (part: unknown): string[] =>
  (JSON.stringify(part).match(/(?<=")\.\/(dist|src)\/[^"*]+(?=")/g) ?? []).map((path) => posix.normalize(path));

/** What a bundler leaves of a program that imports a file of a package, and nothing of it. */
async function bundled(name: string, path: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: `import ${JSON.stringify(`./node_modules/${name}/${path}`)};`, resolveDir: folder },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    packages: "external",
    logLevel: "error", // it would warn of what is wanted here
  });
  return outputFiles.map(({ text }) => text.replace(/^\/\/.*$/gm, "").trim()).join("");
}

/** `@scope/name/path` is of `@scope/name`; a private import (`#name`) is of itself. */
const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

function isEsmOnly({ manifest }: Package, entrypoint: string): boolean {
  const target = manifest.exports?.[entrypoint];
  return typeof target === "object" && target !== null && !("require" in target);
}

// In KB of 1024 bytes, a little above what they are.
const BUDGETS: Readonly<Record<string, { readonly browser?: number; readonly node: number }>> = {
  core: { browser: 23, node: 24 }, // in one file, with what is loaded only when it is needed; a page loads less: see below
  "cuda-simulator": { node: 11 },
  inprocess: { node: 30 },
  "jax-bridge": { browser: 28, node: 28 },
  serve: { node: 48 },
  testkit: { node: 25 },
  "transport-cuda-ipc": { node: 17 },
  "transport-host": { browser: 9, node: 12 },
};

describe("bundled without its dependencies, minified and gzipped", () => {
  test.each(packages.map((one) => [one.folder, one] as const))("%s stays within its budget", async (name, one) => {
    const budget = BUDGETS[name];
    if (budget === undefined) throw new Error(`${name} has no budget: give it one above its size`);
    const [entry = name] = entryPoints(one);
    for (const [platform, kilobytes] of Object.entries(budget) as ["browser" | "node", number][]) {
      const bytes = await gzippedSize(folder, entry, one.manifest, platform);
      expect(bytes / 1024, `${name} for ${platform}, in KB`).toBeLessThan(kilobytes);
      expect(bytes).toBeGreaterThan(0);
    }
  });
});

describe("a page that calls a Tesseract", () => {
  const loaded = (program: string): Promise<number> => firstLoadSize(folder, program);

  test("has loaded less than 15,000 bytes of core, gzipped, before its first call with arrays in the host's memory", async () => {
    expect(await loaded('import { fromUrl } from "@tesseract-ts/core"; console.log(fromUrl);')).toBeLessThan(15_000);
  });

  test("loads no more of it for all that core exports than 17,000", async () => {
    const all = await loaded('import * as core from "@tesseract-ts/core"; console.log(core);');
    expect(all).toBeLessThan(17_000);
    expect(all).toBeGreaterThan(10_000);
  });
});

const program = `
async function main({ fromUrl, hostArray, TesseractError }, { host }) {
  const error = await fromUrl("http://127.0.0.1:9", { transports: [host()] }).catch((error) => error);
  const [base64] = host();
  const { arrays } = await base64.encode([hostArray([1, 2, 3])], { compression: "lz4" });
  console.log(error instanceof TesseractError, error.code, arrays[0].data.compression);
}`;

test("they work as ECMAScript modules", async () => {
  const file = join(folder, "program.mjs");
  await writeFile(
    file,
    `import * as core from "@tesseract-ts/core";\nimport * as transport from "@tesseract-ts/transport-host";\n${program}\nawait main(core, transport);`,
  );
  expect((await run(process.execPath, [file])).stdout).toBe("true CONNECTION_FAILED lz4\n");
});

test("they work as CommonJS modules", async () => {
  const file = join(folder, "program.cjs");
  await writeFile(file, `${program}\nmain(require("@tesseract-ts/core"), require("@tesseract-ts/transport-host"));`);
  expect((await run(process.execPath, [file])).stdout).toBe("true CONNECTION_FAILED lz4\n");
});

const sayProbe = `
  const say = async ({ cudaIpc, DeviceArray }) => {
    const probe = await cudaIpc().probe();
    const failure = await DeviceArray.empty([1], "float64").catch((error) => error);
    console.log(JSON.stringify([probe.ok, probe.reason, probe.hint.length > 0, failure.code]));
  };`;

const gpuPrograms = {
  "gpu.mjs": `import * as cuda from "@tesseract-ts/transport-cuda-ipc";${sayProbe}\nawait say(cuda);`,
  "gpu.cjs": `${sayProbe}\nsay(require("@tesseract-ts/transport-cuda-ipc"));`,
};

test("without an addon, transport-cuda-ipc can be imported and says why it is of no use", async () => {
  await rm(join(installed("@tesseract-ts/transport-cuda-ipc"), "prebuilds"), { recursive: true, force: true });
  for (const [name, source] of Object.entries(gpuPrograms)) {
    const file = join(folder, name);
    await writeFile(file, source);
    const said: unknown = JSON.parse((await run(process.execPath, [file])).stdout);
    expect(said).toEqual([false, expect.stringContaining("addon"), true, "CUDA_UNAVAILABLE"]);
  }
});

test("on another system, transport-cuda-ipc can be imported and says that it is for Linux", async () => {
  const pretend = join(folder, "darwin.cjs");
  await writeFile(pretend, `Object.defineProperty(process, "platform", { value: "darwin" });`);
  for (const [name, source] of Object.entries(gpuPrograms)) {
    const file = join(folder, name);
    await writeFile(file, source);
    const said: unknown = JSON.parse((await run(process.execPath, ["--require", pretend, file])).stdout);
    expect(said).toEqual([false, expect.stringContaining("this is darwin"), true, "CUDA_UNAVAILABLE"]);
  }
});
