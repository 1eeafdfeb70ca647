// Builds the addon for this machine: build/Release/cuda_ipc.node. With --sanitize, for the tests, one with AddressSanitizer and
// UndefinedBehaviorSanitizer: build-sanitized/build/Release/cuda_ipc.node.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const nodeGyp = createRequire(import.meta.url).resolve("node-gyp/bin/node-gyp.js");
const sanitize = process.argv.includes("--sanitize");

if (process.platform !== "linux") {
  console.log("The addon is for Linux; there is nothing to build here.");
  process.exit(0);
}

const status = sanitize ? buildSanitized() : build(root, "rebuild", {});
process.exit(status);

/** In a folder of its own with the same sources, which node-gyp-build can be told to use. */
function buildSanitized() {
  const folder = join(root, "build-sanitized");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of ["binding.gyp", "native", "package.json"]) symlinkSync(join(root, name), join(folder, name));
  const flags = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1";
  return build(folder, "rebuild", { CXXFLAGS: flags, LDFLAGS: "-fsanitize=address,undefined" });
}

function build(folder, command, variables) {
  // The headers that came with this Node, where they did; otherwise node-gyp fetches them.
  const prefix = dirname(dirname(process.execPath));
  const headers = existsSync(join(prefix, "include", "node", "common.gypi")) ? [`--nodedir=${prefix}`] : [];
  const { status, error } = spawnSync(process.execPath, [nodeGyp, command, ...headers], {
    cwd: folder,
    env: { ...process.env, ...variables },
    stdio: "inherit",
  });
  if (error !== undefined) throw error;
  return status ?? 1;
}
