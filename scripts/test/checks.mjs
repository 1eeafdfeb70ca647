// What is checked without running anything: Biome, the TypeScript compiler, and the documentation's site.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "../setup/child.mjs";
import { read } from "../setup/fingerprint.mjs";
import { root } from "../setup/paths.mjs";
import { say, step } from "../setup/progress.mjs";

/** TypeScript 7 takes a quarter of the time; 5.9 still makes the declarations, since the tools for that need its API. */
const FAST = "typescript-7";
const COMPILERS = [FAST, "typescript"];

/** The public types as a user's program sees them: what is built, and no setting but `strict`. */
const USERS_VIEW = "packages/core/test/tsconfig.user.json";

/** @param {import("./tally.mjs").Tally} tally */
export async function lint(tally) {
  const biome = join(root, "node_modules", "@biomejs", "biome", "bin", "biome");
  await check(tally, "lint", () => run(process.execPath, [biome, "check", "."], { cwd: root }));
}

/** @param {import("./tally.mjs").Tally} tally */
export async function typecheck(tally) {
  await check(tally, "typecheck", async () => {
    const result = { status: 0, output: "" };
    const compile = async (compiler, folder) => {
      const tsc = join(root, "node_modules", compiler, "bin", "tsc");
      const { status, output } = await run(process.execPath, [tsc, "-p", folder], { cwd: root });
      if (status === 0) return;
      result.status = status;
      result.output += output;
    };
    // Each of these keeps all processors busy by itself.
    for (const folder of workspaces()) await compile(FAST, folder);
    for (const compiler of COMPILERS) await compile(compiler, USERS_VIEW);
    return result;
  });
}

/**
 * Whether the documentation's site can be built, with no dead link and no missing picture.
 *
 * @param {import("./tally.mjs").Tally} tally
 */
export async function buildSite(tally) {
  const build = join(root, "site", "scripts", "build.mjs");
  await check(tally, "the documentation's site", () => run(process.execPath, [build], { cwd: root }));
}

class CheckFailed extends Error {}

async function check(tally, name, work) {
  try {
    await step(name, async () => {
      const { status, output } = await work();
      if (status !== 0) throw new CheckFailed(output);
    });
    tally.pass();
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error;
    say(error.message);
    tally.fail(name);
  }
}

/** The folders with a tsconfig.json: of the workspaces, or of several at once, which is much faster. */
function workspaces() {
  const hasOne = (folder) => existsSync(join(root, folder, "tsconfig.json"));
  const patterns = JSON.parse(read(join(root, "package.json"))).workspaces;
  const folders = patterns.flatMap((pattern) => {
    const parent = pattern.replace(/\/\*$/, "");
    if (parent === pattern || hasOne(parent)) return [parent];
    return readdirSync(join(root, parent)).map((name) => join(parent, name));
  });
  return folders.filter(hasOne);
}
