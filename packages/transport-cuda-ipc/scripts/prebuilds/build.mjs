// Builds one addon with prebuildify and Zig, in a folder of its own, unless what it is made from is as it was.

import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { childEnvironment, mustRun } from "../../../../scripts/setup/child.mjs";
import { hashOf, hashOfFiles, read, remove, writeWhole } from "../../../../scripts/setup/fingerprint.mjs";
import { withLock } from "../../../../scripts/setup/lock.mjs";
import { cache } from "../../../../scripts/setup/paths.mjs";
import { step } from "../../../../scripts/setup/progress.mjs";
import { headers } from "./headers.mjs";
import { packageRoot, prebuildOf } from "./targets.mjs";
import { compiler, installZig, ZIG } from "./zig.mjs";

/** @typedef {import("./targets.mjs").Target} Target */

const require = createRequire(import.meta.url);

const stampOf = ({ name }) => join(cache, "builds", `transport-cuda-ipc.${name}`);

/** A hash of all that decides what the addon is. */
function fingerprint({ triple }) {
  const { version } = require("node-addon-api/package.json");
  return hashOf(hashOfFiles(packageRoot, ["binding.gyp", "native"]), triple, ZIG, version);
}

/**
 * Whether the addon is there and was made from the sources as they are.
 *
 * @param {Target} target
 * @returns {"fresh" | "stale" | "missing"}
 */
export function stateOf(target) {
  if (!existsSync(prebuildOf(target))) return "missing";
  return read(stampOf(target)) === fingerprint(target) ? "fresh" : "stale";
}

/** @param {Target} target */
export async function buildPrebuild(target) {
  if (stateOf(target) === "fresh") return;
  await installZig();
  await withLock(join(cache, `prebuild-${target.name}.lock`), async () => {
    if (stateOf(target) === "fresh") return;
    await step(`addon for ${target.name}`, () => build(target));
  });
}

async function build(target) {
  const { name, arch, libc } = target;
  const stamp = stampOf(target);
  const made = fingerprint(target);
  remove(stamp);
  // Beside the addon that is used here, which prebuildify would take away.
  const folder = join(cache, "prebuilds", name);
  remove(folder);
  mkdirSync(folder, { recursive: true });
  for (const source of ["binding.gyp", "native", "package.json"]) {
    symlinkSync(join(packageRoot, source), join(folder, source));
  }
  const env = {
    ...childEnvironment(),
    ...headers(),
    CC: compiler("cc", target),
    CXX: compiler("c++", target),
    // Stripped by the linker: this machine's `strip` may not know the other architecture.
    LINK: `${compiler("c++", target)} -s`,
    JOBS: "max",
    PREBUILD_NODE_GYP: join(dirname(require.resolve("node-gyp/package.json")), "bin", "node-gyp.js"),
  };
  const prebuildify = require.resolve("prebuildify/bin.js");
  const node = `node@${process.versions.node}`; // any will do: N-API is the same in all of them
  const flags = ["--napi", "--libc", libc, "--tag-libc", libc, "--arch", arch, "--target", node, "--out", packageRoot];
  await mustRun(process.execPath, [prebuildify, ...flags], { cwd: folder, env });
  writeWhole(stamp, made);
  remove(folder);
}
