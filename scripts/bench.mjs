// Measures, beside the reference in the same run.

import { childEnvironment, main, run } from "./setup/child.mjs";
import { root } from "./setup/paths.mjs";
import { CURRENT_RUNTIME, setup } from "./setup.mjs";

const HELP = `npm run bench [-- --quick]        the client, about 5 minutes
npm run bench:serve [-- --quick]  the servers, about 3 minutes
npm run bench:jax [-- --quick]    programs

Sets up what is missing, measures, and writes bench/results. The ratios count: bench/README.md says of what. Nothing else should run on
the machine. With --quick there are fewer rounds.`;

const options = { quick: { type: "boolean" } };

await main(
  async ({ values, positionals }) => {
    await setup({ runtimes: [CURRENT_RUNTIME] });
    const args = ["--import", "tsx", `bench/${positionals[0]}.ts`, ...(values.quick ? ["--quick"] : [])];
    const { status } = await run(process.execPath, args, { cwd: root, env: childEnvironment(), show: true });
    return status;
  },
  { help: HELP, options, allowPositionals: true },
);
