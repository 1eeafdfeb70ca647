// Builds all that is published, and checks the packages as npm packs them.

import { join } from "node:path";
import { nodeFor } from "../../packages/transport-cuda-ipc/scripts/prebuilds/node-for.mjs";
import { targets } from "../../packages/transport-cuda-ipc/scripts/prebuilds/targets.mjs";
import { buildAddons } from "../setup/builds.mjs";
import { childEnvironment, main, mustRun, run, SetupError } from "../setup/child.mjs";
import { root } from "../setup/paths.mjs";
import { say, seconds, step, yellow } from "../setup/progress.mjs";
import { setup } from "../setup.mjs";
import { findChromium } from "../test/chromium.mjs";
import { installNode } from "../test/nodes.mjs";

/** It understands the README's first example as it is written. */
const NODE = "24.21.0";

const HELP = `npm run publish:check [-- --as-built]

Builds all that is published, and checks the packages as npm packs them: what is in them, that they install and work in empty projects
and in a container with only Node, and the addon for each target. Takes two to six minutes. With --as-built no package is built before.`;

await main(check, { help: HELP, options: { "as-built": { type: "boolean" } } });

async function check({ values }) {
  const start = performance.now();
  if (!values["as-built"]) await setup({ runtimes: [] });
  await buildAddons();
  await npmRun("the CUDA simulator", "build:native", "packages/cuda-simulator");
  await npmRun("prebuilt addons", "prebuilds", "packages/transport-cuda-ipc");
  for (const target of targets) await makeNode(target);
  const env = {
    ...childEnvironment(),
    PACKAGING_WHOLE: "1",
    PACKAGING_NODES: await installNode(NODE),
    ...(findChromium() === undefined ? {} : { TESSERACT_CHROMIUM: findChromium() }),
  };
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const args = [vitest, "run", "packaging", "--project", "interop", "--disable-console-intercept"];
  const { status } = await run(process.execPath, args, { cwd: root, env, show: true });
  say(`\nThe packages are ${status === 0 ? "" : "not "}ready to be published (${seconds(performance.now() - start)}).`);
  return status;
}

function npmRun(title, script, folder) {
  const args = ["run", script, "--silent", "-w", folder];
  return step(title, () => mustRun("npm", args, { cwd: root, env: childEnvironment() }));
}

/** A Node for a target, which loads its addon. Where there can't be one, that is said, and the test is skipped. */
async function makeNode(target) {
  try {
    await nodeFor(target);
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    say(`  ${yellow("!")} No Node for ${target.name}: ${error.message.trim().split("\n").at(-1)}`);
  }
}
