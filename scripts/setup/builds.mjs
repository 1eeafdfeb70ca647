// The packages' dist folders, and their native addons. Each is built only when its sources changed since the last build.

import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { childEnvironment, mustRun } from "./child.mjs";
import { hashOf, hashOfFiles, read, remove, writeWhole } from "./fingerprint.mjs";
import { cache, root } from "./paths.mjs";
import { say, step, yellow } from "./progress.mjs";

/**
 * Builds the packages that changed, or that are missing files, and those that depend on them.
 *
 * @param {readonly string[]} [only] the folders of those that are needed, with what they depend on; all if left out
 */
export async function buildPackages(only) {
  const packages = readPackages();
  const outdated = [...packages.values()].filter(
    ({ folder, manifest }) =>
      (only === undefined || only.includes(folder)) &&
      (read(stampOf(folder)) !== fingerprint(manifest.name, packages) || !isWhole(folder, manifest)),
  );
  if (outdated.length === 0) return;
  const title = `build ${outdated.map(({ folder }) => folder).join(", ")}`;
  const made = outdated.map(({ folder, manifest }) => [stampOf(folder), fingerprint(manifest.name, packages)]);
  await step(title, async () => {
    for (const [path] of made) remove(path);
    const scopes = outdated.flatMap(({ manifest }) => ["--scope", manifest.name]);
    const lerna = join(root, "node_modules", "lerna", "dist", "cli.js");
    await mustRun(process.execPath, [lerna, "run", "build", "--concurrency", "2", ...scopes], {
      cwd: root,
      env: {
        ...childEnvironment(),
        NX_DAEMON: "false",
        NX_TUI: "false",
        NX_NO_CLOUD: "true",
        NX_CACHE_DIRECTORY: join(cache, "nx"),
        NX_WORKSPACE_DATA_DIRECTORY: join(cache, "nx-data"),
      },
    });
    for (const [path, hash] of made) writeWhole(path, hash);
  });
}

/**
 * Builds the native addons that changed. Without a compiler they are left out, since their packages work without and say what
 * is missing; in CI that is an error.
 */
export async function buildAddons() {
  if (process.platform !== "linux") return;
  for (const folder of readdirSync(join(root, "packages"))) {
    const path = join(root, "packages", folder);
    if (!existsSync(join(path, "binding.gyp"))) continue;
    const stamp = join(cache, "builds", `${folder}.addon`);
    const sources = ["binding.gyp", "native", "package.json", "scripts/build-native.mjs"];
    const made = hashOf(hashOfFiles(path, sources), process.arch);
    if (read(stamp) === made && existsSync(join(path, "build", "Release"))) continue;
    const missing = missingTools();
    if (missing.length > 0 && !process.env.CI) {
      say(
        `  ${yellow("!")} The addon of ${folder} isn't built: ${missing.join(" and ")} ${missing.length > 1 ? "are" : "is"} missing.`,
      );
      continue;
    }
    await step(`build the addon of ${folder}`, async () => {
      remove(stamp);
      await mustRun("npm", ["run", "build:native", "--silent"], { cwd: path, env: childEnvironment() });
      writeWhole(stamp, made);
    });
  }
}

/** What node-gyp needs besides Node's headers. */
function missingTools() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const has = (name) => folders.some((folder) => existsSync(join(folder, name)));
  const needs = { "a C++ compiler": ["c++", "g++", "clang++"], make: ["make"], Python: ["python3"] };
  return Object.keys(needs).filter((tool) => !needs[tool].some(has));
}

const stampOf = (folder) => join(cache, "builds", folder);

/** By name, those under packages/ that have something to build. */
function readPackages() {
  const packages = new Map();
  for (const folder of readdirSync(join(root, "packages"))) {
    const text = read(join(root, "packages", folder, "package.json"));
    if (text === "") continue;
    const manifest = JSON.parse(text);
    if (manifest.scripts?.build !== undefined) packages.set(manifest.name, { folder, manifest });
  }
  return packages;
}

/** A hash of what a package is built from, the packages it depends on included. */
function fingerprint(name, packages) {
  const { folder, manifest } = packages.get(name);
  const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    .filter((dependency) => packages.has(dependency))
    .sort();
  return hashOf(
    hashOfFiles(root, ["tsconfig.base.json"]),
    hashOfFiles(join(root, "packages", folder), ["package.json", "src", "tsconfig.json", "tsup.config.ts"]),
    ...dependencies.map((dependency) => fingerprint(dependency, packages)),
  );
}

/** Whether every file that the manifest promises is there. */
function isWhole(folder, manifest) {
  const promised = JSON.stringify(manifest).match(/(?<=")\.\/dist\/[^"*]+(?=")/g) ?? [];
  return promised.every((path) => existsSync(join(root, "packages", folder, path)));
}
