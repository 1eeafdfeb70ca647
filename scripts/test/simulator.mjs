// The CUDA simulator: builds its libraries, and runs its native tests and its tests in TypeScript. Once is enough: no other
// version of Node changes what it finds.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { childEnvironment, run } from "../setup/child.mjs";
import { root } from "../setup/paths.mjs";
import { bold, say, step, yellow } from "../setup/progress.mjs";
import { runVitest } from "./vitest.mjs";

const folder = join(root, "packages", "cuda-simulator");
const build = join(folder, "native", "build");

/** Runs of the random workload; `npm run test:simulator:seeds` does a thousand. */
const SEEDS = "100";

const inCi = Boolean(process.env.CI);

/**
 * Builds the libraries, which the tests of GPU arrays need as well.
 *
 * @param {import("./tally.mjs").Tally} tally
 * @returns {Promise<boolean>} whether they are there
 */
export async function buildSimulator(tally) {
  const missing = whatIsMissing();
  if (missing === undefined) return check(tally, "build the CUDA simulator", buildLibraries);
  if (inCi) tally.fail(missing);
  else {
    say(`  ${yellow("!")} ${missing}. Its tests, and those of GPU arrays, are skipped.`);
    tally.skip("all tests of the CUDA simulator and of GPU arrays", missing);
  }
  return false;
}

/** @param {import("./tally.mjs").Tally} tally */
export async function testSimulator(tally) {
  say(bold("\nThe CUDA simulator"));
  await testNatively(tally);
  const name = `CUDA simulator, Node ${process.versions.node}`;
  await runVitest(tally, { node: process.execPath, name, args: ["--config", join(folder, "vitest.config.ts")] });
}

function whatIsMissing() {
  if (process.platform !== "linux") return `The CUDA simulator is for Linux, and this is ${process.platform}`;
  const compilers = process.env.CXX ? process.env.CXX.split(" ", 1) : ["c++", "g++", "clang++"];
  if (isInstalled("cmake") && compilers.some(isInstalled)) return undefined;
  return "The CUDA simulator needs cmake and a C++ compiler: `apt install cmake g++ make` installs them";
}

function isInstalled(program) {
  const folders = program.includes("/") ? [""] : (process.env.PATH ?? "").split(delimiter);
  return folders.some((place) => {
    try {
      accessSync(join(place, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

const buildLibraries = () => run(process.execPath, [join(folder, "dist", "cli", "main.js"), "build", "--tests"]);

/** Each group of rules is a test of CTest's, which prints `Test #3: streams ....   Passed`. */
async function testNatively(tally) {
  const env = { ...childEnvironment(), RULES_SEEDS: process.env.RULES_SEEDS ?? SEEDS };
  const args = ["--test-dir", build, "--output-on-failure"];
  let output = "";
  const good = await step("its rules", async () => {
    const result = await run("ctest", args, { env });
    output = result.output;
    return result.status === 0;
  });
  const groups = [...output.matchAll(/Test +#\d+: (\S+) \.+ *(\S+)/g)];
  for (const [, group, outcome] of groups) {
    if (outcome === "Passed") tally.pass();
    else tally.fail(`rules: ${group}, CUDA simulator`);
  }
  if (!good) say(output);
  if (groups.length === 0) tally.fail("rules: CTest ran none, CUDA simulator");
}

async function check(tally, name, work) {
  const { status, output } = await step(name, work);
  if (status === 0) return true;
  say(output);
  tally.fail(`${name}, CUDA simulator`);
  return false;
}
