// Runs when the package is installed (`npm install`): builds the addon from its sources where none of the prebuilt ones fits and
// there is a compiler. It never fails the installation: without an addon the package can be imported, and says what is missing.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NAME = "@tesseract-ts/transport-cuda-ipc";
const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);

/** As much of a failed build's output as is worth showing, in lines. */
const LAST_LINES = 15;

const isClone = existsSync(join(folder, "scripts", "build-native.mjs")); // `npm run build:native` is for that
const fromSource = process.env.npm_config_build_from_source === "true";

if (process.platform === "linux" && !isClone && (fromSource || !loads())) build();

/** Whether there is an addon for this platform. */
function loads() {
  try {
    require("node-gyp-build")(folder);
    return true;
  } catch {
    return false;
  }
}

function build() {
  const missing = missingTools();
  if (missing.length > 0) {
    const none = fromSource
      ? "no addon"
      : `there is no prebuilt addon for ${process.platform}-${process.arch}, and none`;
    say(`${none} can be built without ${missing.join(", ")}`);
    return;
  }
  // npm names its own node-gyp.
  const gyp = process.env.npm_config_node_gyp;
  const [command, ...args] = gyp ? [process.execPath, gyp, "rebuild"] : ["node-gyp", "rebuild"];
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: "utf8" });
  if (status === 0 && loads()) return;
  const output = `${stdout ?? ""}${stderr ?? ""}${error?.message ?? ""}`;
  console.error(output.trimEnd().split("\n").slice(-LAST_LINES).join("\n"));
  say("the addon's build failed, as printed above");
}

function missingTools() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const has = (name) => folders.some((path) => existsSync(join(path, name)));
  const compiler = process.env.CXX ? [] : ["c++", "g++", "clang++"];
  const needs = { "a C++ compiler": compiler, make: ["make", "gmake"], Python: ["python3", "python"] };
  return Object.keys(needs).filter((tool) => needs[tool].length > 0 && !needs[tool].some(has));
}

function say(what) {
  console.error(`${NAME}: ${what}. It is installed all the same, and GPU arrays go through the host.`);
}
