// `npm run gpu:bundle`: one folder with all that the suite needs on a GPU machine without a network and without Node.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { childEnvironment, main, mustRun, SetupError } from "../../scripts/setup/child.mjs";
import { installDependencies } from "../../scripts/setup/dependencies.mjs";
import { read, remove, writeWhole } from "../../scripts/setup/fingerprint.mjs";
import { withLock } from "../../scripts/setup/lock.mjs";
import { cache, root } from "../../scripts/setup/paths.mjs";
import { say, step } from "../../scripts/setup/progress.mjs";
import { installNode } from "../../scripts/test/nodes.mjs";
import { buildNeededPackages, buildRules, buildSuite } from "./builds.mjs";
import { downloadWheels } from "./wheels.mjs";
import { findCompiler } from "./zig.mjs";

const HELP = `npm run gpu:bundle -- [--out FOLDER]   packs the GPU suite into FOLDER (dist/gpu-bundle), for Linux on x64`;

const NODE = "20.20.2";
const MOST_BYTES = 60e6;

await main(bundle, { help: HELP, options: { out: { type: "string" } } });

async function bundle({ values }) {
  if (process.platform !== "linux" || process.arch !== "x64") throw new SetupError("A bundle is made on Linux on x64.");
  await withLock(join(cache, "setup.lock"), async () => {
    await installDependencies();
    await buildNeededPackages();
  });
  await buildSuite();
  const folder = resolve(values.out ?? join(root, "dist", "gpu-bundle"));
  if (existsSync(folder) && readdirSync(folder).length > 0 && !existsSync(join(folder, "run.sh"))) {
    throw new SetupError(`${folder} has something else in it than a bundle.`);
  }
  remove(folder);
  await pack(folder);
  return report(folder);
}

async function pack(folder) {
  const app = join(folder, "app");
  const compiler = await findCompiler();
  copy(join(root, "gpu", "bundle"), folder);
  copy(join(root, "gpu", "dist"), join(app, "dist"));
  copy(join(root, "gpu", "python"), join(app, "python"));
  const fixtures = join(root, "packages", "cuda-simulator", "test", "interop", "python");
  for (const name of ["rotate", "echo", "device_memory.py"]) copy(join(fixtures, name), join(app, "python", name));
  writeFileSync(join(app, "package.json"), '{ "private": true, "type": "module" }\n');
  for (const name of ["core", "transport-host", "transport-cuda-ipc"]) copyPackage(name, join(app, "node_modules"));
  await step("build the addon", () =>
    buildAddon(compiler, join(app, "node_modules", "@tesseract-ts", "transport-cuda-ipc")),
  );
  copy(await buildRules(compiler.join(" ")), join(app, "rules"));
  const node = await installNode(NODE);
  await step("pack Node", () => packNode(node, folder));
  await step("download the wheels", () => downloadWheels(join(folder, "wheels")));
}

/** What is built, without what only people and compilers read. */
function copy(from, to) {
  cpSync(from, to, {
    recursive: true,
    filter: (path) => !/\.(map|cts|cjs)$|\.d\.ts$/.test(path) && basename(path) !== "__pycache__",
  });
}

/** A package of ours, and the packages of others that it needs. */
function copyPackage(name, modules) {
  const from = join(root, "packages", name);
  const to = join(modules, "@tesseract-ts", name);
  mkdirSync(to, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(from, "package.json"), "utf8"));
  writeFileSync(join(to, "package.json"), JSON.stringify(manifest, null, 2));
  copy(join(from, "dist"), join(to, "dist"));
  for (const dependency of Object.keys(manifest.dependencies ?? {})) {
    if (dependency.startsWith("@tesseract-ts/")) continue;
    const found = [from, root].map((parent) => join(parent, "node_modules", dependency)).find(existsSync);
    if (found === undefined) throw new SetupError(`${dependency} isn't installed: npm install`);
    cpSync(found, join(modules, dependency), { recursive: true, filter: (path) => !/\.(d\.ts|md|map)$/.test(path) });
  }
}

/** The addon as node-gyp-build finds a prebuilt one; its definitions are those of binding.gyp. */
async function buildAddon(compiler, to) {
  const from = join(root, "packages", "transport-cuda-ipc");
  const sources = readdirSync(join(from, "native")).filter((name) => name.endsWith(".cc"));
  const [, listed = ""] = /"defines": \[([^\]]*)\]/.exec(read(join(from, "binding.gyp"))) ?? [];
  const defines = [...listed.matchAll(/"([^"]+)"/g)].map(([, define]) => `-D${define}`);
  if (defines.length === 0) throw new SetupError("binding.gyp has no definitions.");
  const out = join(to, "prebuilds", "linux-x64", "node.napi.glibc.node");
  mkdirSync(dirname(out), { recursive: true });
  const flags = ["-shared", "-fPIC", "-O2", "-std=c++17", "-fexceptions", "-fvisibility=hidden", "-pthread", "-s"];
  const includes = [nodeHeaders(), join(root, "node_modules", "node-addon-api")].map((path) => `-I${path}`);
  // Never unloaded, as in binding.gyp.
  const args = [
    ...flags,
    ...defines,
    ...includes,
    ...sources.map((name) => join(from, "native", name)),
    "-Wl,-z,nodelete",
    "-ldl",
  ];
  const [program, ...first] = compiler;
  await mustRun(program, [...first, ...args, "-o", out], { env: childEnvironment() });
}

function nodeHeaders() {
  const places = [
    join(dirname(dirname(process.execPath)), "include", "node"),
    join(homedir(), ".cache", "node-gyp", process.versions.node, "include", "node"),
  ];
  const found = places.find((place) => existsSync(join(place, "node_api.h")));
  if (found === undefined) {
    throw new SetupError(
      "Node's headers aren't here: `npm run build:native -w packages/transport-cuda-ipc` fetches them.",
    );
  }
  return found;
}

/** Without its symbols; gzip is everywhere, and xz isn't. Packing takes most of a minute, so it is kept. */
async function packNode(node, folder) {
  const kept = join(cache, `gpu-node-${NODE}.gz`);
  if (!existsSync(kept)) {
    const stripped = join(cache, `gpu-node-${process.pid}`);
    try {
      await mustRun("strip", ["--strip-unneeded", "-o", stripped, node]);
      writeWhole(kept, gzipSync(readFileSync(stripped), { level: 9 }));
    } finally {
      remove(stripped);
    }
  }
  cpSync(kept, join(folder, "node.gz"));
}

function report(folder) {
  const parts = readdirSync(folder).map((name) => [name, bytesIn(join(folder, name))]);
  const total = parts.reduce((sum, [, bytes]) => sum + bytes, 0);
  const text = (bytes) => `${(bytes / 1e6).toFixed(1)} MB`;
  for (const [name, bytes] of parts) say(`  ${text(bytes).padStart(8)}  ${name}`);
  say(`${folder}: ${text(total)}. Copy it to the machine and run ${basename(folder)}/run.sh there.`);
  if (total <= MOST_BYTES) return 0;
  say(`That is more than ${text(MOST_BYTES)}.`);
  return 1;
}

function bytesIn(path) {
  const found = statSync(path);
  if (!found.isDirectory()) return found.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesIn(join(path, name)), 0);
}
