// `npm start`: starts the example Tesseract in a process of its own, and calls it.

import { join } from "node:path";
import { buildAddons } from "./setup/builds.mjs";
import { childEnvironment, main, mustRun, run } from "./setup/child.mjs";
import { root } from "./setup/paths.mjs";
import { step } from "./setup/progress.mjs";
import { CURRENT_RUNTIME, setup } from "./setup.mjs";

const args = process.argv.slice(2);

/** Everything runs from the sources: no package has to be built. */
const fromSources = ["--import", "tsx", "--conditions=source"];

await main(async () => {
  await setup({ runtimes: args.includes("--python") ? [CURRENT_RUNTIME] : [], packages: [] });
  if (args.includes("--simulated-gpu")) {
    await buildAddons();
    await step("build the CUDA simulator", () =>
      mustRun(process.execPath, [...fromSources, "src/cli/main.ts", "build"], {
        cwd: join(root, "packages", "cuda-simulator"),
        env: childEnvironment(),
      }),
    );
  }
  const { status } = await run(process.execPath, [...fromSources, "examples/heat/client.ts", ...args], {
    cwd: root,
    env: childEnvironment(),
    show: true,
  });
  return status;
});
