// `npm run test:gpu`: builds what is missing, and runs the suite on what is built. Arguments after `--` go to the suite.

import { join } from "node:path";
import { buildAddons } from "../../scripts/setup/builds.mjs";
import { childEnvironment, main, run, SetupError } from "../../scripts/setup/child.mjs";
import { installDependencies } from "../../scripts/setup/dependencies.mjs";
import { withLock } from "../../scripts/setup/lock.mjs";
import { cache, root } from "../../scripts/setup/paths.mjs";
import { buildNeededPackages, buildRules, buildSimulator, buildSuite } from "./builds.mjs";

const args = process.argv.slice(2);
const env = childEnvironment();

await main(async () => {
  const prepared = await prepare();
  const program = join(root, "gpu", "dist", "main.js");
  const { status } = await run(process.execPath, [program, ...prepared, ...args], { cwd: root, env, show: true });
  return status;
});

/** Builds what is needed; the options that it gives the suite. */
async function prepare() {
  if (args.includes("--help") || args.includes("-h")) {
    await buildSuite();
    return [];
  }
  await withLock(join(cache, "setup.lock"), async () => {
    await installDependencies();
    await buildNeededPackages();
    await buildAddons();
  });
  await buildSuite();
  if (args.includes("--simulated")) return ["--rules-program", await buildSimulator()];
  if (args.includes("--no-rules")) return [];
  try {
    return ["--rules-program", await buildRules()];
  } catch (error) {
    // Without a compiler the rest can be checked all the same: the suite says that the rules were skipped.
    if (!(error instanceof SetupError)) throw error;
    console.error(error.message);
    return [];
  }
}
