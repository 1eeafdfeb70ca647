// Runs Vitest under some Node, and adds what came of it to the tally.

import { mkdirSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { childEnvironment, run } from "../setup/child.mjs";
import { read, remove } from "../setup/fingerprint.mjs";
import { cache, root } from "../setup/paths.mjs";

/**
 * @param {import("./tally.mjs").Tally} tally
 * @param {{ node: string, name: string, args: readonly string[], env?: NodeJS.ProcessEnv }} options
 */
export async function runVitest(tally, { node, name, args, env = {} }) {
  const results = join(cache, "results", `${name.toLowerCase().replace(/\W+/g, "-")}.json`);
  mkdirSync(dirname(results), { recursive: true });
  remove(results);
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const reporters = ["--reporter=default", `--reporter=${join(root, "scripts", "test", "tally-reporter.mjs")}`];
  const { status } = await run(node, [vitest, "run", ...reporters, ...args], {
    cwd: root,
    // Tests that start `node` get the same one.
    env: { ...childEnvironment(), PATH: dirname(node) + delimiter + process.env.PATH, ...env, TALLY_FILE: results },
    show: true,
  });
  const text = read(results);
  const { passed, failed, skipped } = text === "" ? { passed: 0, failed: [], skipped: [] } : JSON.parse(text);
  tally.pass(passed);
  for (const test of failed) tally.fail(`${test}, ${name}`);
  for (const test of skipped) tally.skip(test.name, `${name}: ${test.reason}`);
  if (status !== 0 && failed.length === 0) tally.fail(`Vitest, ${name}: it ended with status ${status}`);
}
