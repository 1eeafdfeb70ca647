// `npm run bench` and `npm run bench:serve`: measure, beside the reference in the same run. Arguments after `--` go to the
// benchmark.

import { childEnvironment, main, run } from "./setup/child.mjs";
import { root } from "./setup/paths.mjs";
import { CURRENT_RUNTIME, setup } from "./setup.mjs";

await main(async () => {
  await setup({ runtimes: [CURRENT_RUNTIME] });
  const [name, ...rest] = process.argv.slice(2);
  const args = ["--import", "tsx", `bench/${name}.ts`, ...rest];
  const { status } = await run(process.execPath, args, { cwd: root, env: childEnvironment(), show: true });
  return status;
});
