// Runs this package's tests with each prebuilt addon, on a Node and on a CUDA simulator for its target.

import { join } from "node:path";
import { childEnvironment, main, mustRun, run, SetupError } from "../../../scripts/setup/child.mjs";
import { root } from "../../../scripts/setup/paths.mjs";
import { bold, say, yellow } from "../../../scripts/setup/progress.mjs";
import { buildPrebuild } from "./prebuilds/build.mjs";
import { nodeFor, variablesFor } from "./prebuilds/node-for.mjs";
import { simulatorFor } from "./prebuilds/simulator-for.mjs";
import { isOwn, packageRoot, prebuildOf, targets, targetsNamed } from "./prebuilds/targets.mjs";
import { compiler } from "./prebuilds/zig.mjs";

const HELP = `npm run test:prebuilds [-- TARGET... [-- TESTS...]]

For ${targets.map(({ name }) => name).join(", ")}, or for the targets that are named: builds the addon and the
CUDA simulator, gets a Node (24, from PyPI; musl from Debian's packages), and runs the package's tests with them, or those that are
named. For another processor than this machine's qemu-user is needed, and a quarter of an hour.
A target that can't be run here is left out, and the reason is printed; in CI that is an error.`;

/** How many times as long an emulator takes, at the most, on a machine that is busy as well. */
const EMULATED_SLOWDOWN = 20;

await main(testAll, { help: HELP, allowPositionals: true });

async function testAll({ positionals }) {
  const names = positionals.filter((name) => !name.startsWith("test/"));
  const tests = positionals.filter((name) => name.startsWith("test/"));
  const outcomes = [];
  for (const target of targetsNamed(names)) {
    say(bold(`\n${target.name}`));
    outcomes.push(`${target.name.padEnd(18)} ${await test(target, tests)}`);
  }
  console.log(`\n${outcomes.join("\n")}`);
  return outcomes.some((line) => line.includes("failed") || (process.env.CI && line.includes("not run"))) ? 1 : 0;
}

/** @param {import("./prebuilds/targets.mjs").Target} target */
async function test(target, tests) {
  let node;
  try {
    await buildPrebuild(target);
    node = await nodeFor(target);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`  ${yellow("!")} ${error.message}`);
    return `not run: ${error.message.trim().split("\n").at(-1)}`;
  }
  const env = {
    ...childEnvironment(),
    ...variablesFor(target),
    CUDA_SIMULATOR_LIBRARIES: await simulatorFor(target),
    PREBUILDS_ONLY: "1", // node-gyp-build's: not what was built here
    TESSERACT_TEST_NODE: node,
    TESSERACT_TEST_ADDON: prebuildOf(target),
    ...(isOwn(target) ? {} : { TESSERACT_TEST_CC: compiler("cc", target) }),
    ...(target.arch === process.arch ? {} : { TESSERACT_TEST_SLOWDOWN: String(EMULATED_SLOWDOWN) }),
  };
  const version = (await mustRun(node, ["--version"])).trim();
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "--config", join(packageRoot, "vitest.config.ts"), ...tests];
  const { status } = await run(process.execPath, args, { cwd: packageRoot, env, show: true });
  return `${status === 0 ? "passed" : "failed"} on Node ${version}`;
}
