// `npm start`: serves the example Tesseract and calls it.

import { childEnvironment, main, run } from "./setup/child.mjs";
import { root } from "./setup/paths.mjs";
import { CURRENT_RUNTIME, setup } from "./setup.mjs";

await main(async () => {
  await setup({ runtimes: [CURRENT_RUNTIME], packages: ["core", "transport-host"] });
  const args = ["--import", "tsx", "examples/heat/client.ts", ...process.argv.slice(2)];
  const { status } = await run(process.execPath, args, { cwd: root, env: childEnvironment(), show: true });
  return status;
});
