// The transport cuda_ipc between processes on the CUDA simulator.

import { join } from "node:path";
import { root } from "../setup/paths.mjs";
import { bold, say } from "../setup/progress.mjs";
import { runVitest } from "./vitest.mjs";

/**
 * @param {import("./tally.mjs").Tally} tally
 * @param {{ node: string, name: string, only?: readonly string[] }} options `only`: parts of the paths of test files
 */
export async function testCudaIpc(tally, { node, name, only = [] }) {
  const title = `cuda_ipc, ${name}`;
  say(bold(`\n${title}`));
  const config = join(root, "packages", "transport-cuda-ipc", "vitest.config.ts");
  await runVitest(tally, { node, name: title, args: ["--config", config, ...only] });
}
