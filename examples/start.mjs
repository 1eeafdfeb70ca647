// Runs an example, after it has made what the example needs and what is missing. Quick when nothing is.
//
//     node ../start.mjs [NEED...] main.ts [ARGUMENT...]
//
// A NEED is "python" (.venv, with the reference runtime), "jax" (.venv-jax, with tesseract-jax too, if there is an argument --jax)
// or "simulator" (the addon for GPU arrays, and the CUDA simulator where there is no GPU).

import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildAddons } from "../scripts/setup/builds.mjs";
import { childEnvironment, main, mustRun, run } from "../scripts/setup/child.mjs";
import { root } from "../scripts/setup/paths.mjs";
import { step } from "../scripts/setup/progress.mjs";
import { CURRENT_RUNTIME, setup } from "../scripts/setup.mjs";

/** Everything runs from the sources: no package has to be built. */
const fromSources = ["--import", "tsx", "--conditions=source"];

/** Device files of NVIDIA's driver. */
const gpus = ["/dev/nvidiactl", "/dev/dxg"];

await main(async () => {
  const given = process.argv.slice(2);
  const program = given.findIndex((word) => word.endsWith(".ts"));
  const needs = given.slice(0, program);
  const args = given.slice(program + 1);
  const help = args.includes("--help") || args.includes("-h");
  await setup({ runtimes: help ? [] : runtimesFor(needs, args), packages: [] });
  if (needs.includes("simulator") && !help) {
    await buildAddons();
    if (!gpus.some((path) => existsSync(path))) await buildSimulator();
  }
  const { status } = await run(process.execPath, [...fromSources, resolve(given[program]), ...args], {
    // Where npm was started, so that files are found and written there.
    cwd: process.env.INIT_CWD ?? process.cwd(),
    env: childEnvironment(),
    show: true,
  });
  return status;
});

function runtimesFor(needs, args) {
  if (needs.includes("jax") && args.includes("--jax")) return ["jax"];
  const isGiven = args.includes("--python") || args.includes("--typescript");
  return needs.includes("python") && !isGiven ? [CURRENT_RUNTIME] : [];
}

function buildSimulator() {
  return step("build the CUDA simulator", () =>
    mustRun(process.execPath, [...fromSources, "src/cli/main.ts", "build"], {
      cwd: join(root, "packages", "cuda-simulator"),
      env: childEnvironment(),
    }),
  );
}
