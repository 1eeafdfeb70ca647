// Builds the addon for this machine: build/Release/cuda_ipc.node. With --sanitize, for the tests, one with AddressSanitizer and
// UndefinedBehaviorSanitizer: build-sanitized/build/Release/cuda_ipc.node.

import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { headers } from "./prebuilds/headers.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);

if (process.platform !== "linux") {
  console.log("The addon is for Linux; there is nothing to build here.");
  process.exit(0);
}

if (process.argv.includes("--sanitize")) buildSanitized();
else buildHere();

function buildHere() {
  run("node-gyp/bin/node-gyp.js", ["configure", "build"], root);
}

/** In a folder of its own with the same sources, which node-gyp-build can be told to use. */
function buildSanitized() {
  const folder = join(root, "build-sanitized");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const name of ["binding.gyp", "native", "package.json"]) symlinkSync(join(root, name), join(folder, name));
  const flags = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1";
  const variables = { CXXFLAGS: flags, LDFLAGS: "-fsanitize=address,undefined" };
  run("node-gyp/bin/node-gyp.js", ["rebuild"], folder, variables);
}

function run(program, args, folder, variables = {}) {
  const { status, error } = spawnSync(process.execPath, [require.resolve(program), ...args], {
    cwd: folder,
    env: { ...process.env, ...headers(), ...variables },
    stdio: "inherit",
  });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
