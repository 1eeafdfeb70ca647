// What the suite is made of, built where it isn't yet.

import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { childEnvironment, mustRun } from "../../scripts/setup/child.mjs";
import { hashOf, hashOfFiles, read, writeWhole } from "../../scripts/setup/fingerprint.mjs";
import { cache, root } from "../../scripts/setup/paths.mjs";
import { step } from "../../scripts/setup/progress.mjs";

const gpu = join(root, "gpu");
const simulator = join(root, "packages", "cuda-simulator");
const command = join(simulator, "dist", "cli", "main.js");

/** Whose `dist` the suite runs on, those that others depend on first. */
const PACKAGES = ["core", "transport-host", "transport-cuda-ipc", "cuda-simulator"];

/** Builds the packages of the suite whose sources are newer than what was built of them. No other package matters here. */
export async function buildNeededPackages() {
  for (const name of PACKAGES) {
    const folder = join(root, "packages", name);
    const sources = newestIn(join(folder, "src"));
    const built = ["index.js", "index.d.ts"].map((file) => modifiedAt(join(folder, "dist", file)));
    if (sources <= Math.min(...built)) continue;
    await step(`build ${name}`, () =>
      mustRun("npm", ["run", "build", "--silent"], { cwd: folder, env: childEnvironment() }),
    );
  }
}

const modifiedAt = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Number.NEGATIVE_INFINITY;

const newestIn = (folder) =>
  Math.max(
    ...readdirSync(folder, { withFileTypes: true }).map((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? newestIn(path) : modifiedAt(path);
    }),
  );

/** The suite itself: `gpu/dist`. */
export async function buildSuite() {
  const made = hashOf(hashOfFiles(gpu, ["src", "tsup.config.ts", "package.json"]));
  await unlessMade("gpu-suite", made, join(gpu, "dist", "main.js"), "build the GPU suite", () =>
    mustRun(process.execPath, [join(root, "node_modules", "tsup", "dist", "cli-default.js"), "--silent"], {
      cwd: gpu,
      env: childEnvironment(),
    }),
  );
}

/**
 * The simulator's libraries, and the program of the rules beside them.
 *
 * @returns {Promise<string>} where that is
 */
export async function buildSimulator() {
  const made = hashOf(hashOfFiles(simulator, ["native/src", "native/test", "native/CMakeLists.txt"]));
  await unlessMade(
    "gpu-simulator",
    made,
    join(simulator, "native", "build", "lib", "libcuda.so.1"),
    "build the simulator",
    () => mustRun(process.execPath, [command, "build", "--tests"], { env: childEnvironment() }),
  );
  return join(simulator, "native", "build", "bin", "rules");
}

/**
 * The program of the rules.
 *
 * @param {string} [compiler] another one than the machine's own, as CXX names it
 * @returns {Promise<string>} where it is
 */
export async function buildRules(compiler = "") {
  const program = join(simulator, "native", "build", "rules", "bin", "rules");
  const made = hashOf(hashOfFiles(simulator, ["native/src", "native/test", "native/CMakeLists.txt"]), compiler);
  await unlessMade("gpu-rules", made, program, "build the rules", () =>
    mustRun(process.execPath, [command, "build", "--rules"], {
      env: { ...childEnvironment(), ...(compiler === "" ? {} : { CXX: compiler }) },
    }),
  );
  return program;
}

async function unlessMade(name, made, file, title, build) {
  const stamp = join(cache, "builds", name);
  if (read(stamp) === made && existsSync(file)) return;
  await step(title, build);
  writeWhole(stamp, made);
}
