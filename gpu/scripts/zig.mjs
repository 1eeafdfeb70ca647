// A compiler for an old C library, so that what is built here runs on any Linux of the last years.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { childEnvironment, mustRun, run, SetupError } from "../../scripts/setup/child.mjs";
import { remove } from "../../scripts/setup/fingerprint.mjs";
import { cache } from "../../scripts/setup/paths.mjs";
import { say, step } from "../../scripts/setup/progress.mjs";

const VERSION = "0.15.2";
export const GLIBC = "2.28";

/**
 * The compiler's command: Zig, which is installed into the cache if it can be; otherwise this machine's own, whose programs need
 * a C library as new as this machine's.
 *
 * @returns {Promise<readonly string[]>}
 */
export async function findCompiler() {
  const python = join(cache, `zig-${VERSION}`, "bin", "python");
  try {
    if (!existsSync(python)) await install(python);
    return [python, "-m", "ziglang", "c++", "-target", `x86_64-linux-gnu.${GLIBC}`];
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    const { output } = await run("getconf", ["GNU_LIBC_VERSION"]);
    say(`  Zig can't be installed, so this machine's compiler is used: the bundle needs ${output.trim()} or newer.`);
    return [process.env.CXX || "c++"];
  }
}

async function install(python) {
  const folder = join(cache, `zig-${VERSION}`);
  await step(`Zig ${VERSION}`, async () => {
    try {
      await mustRun("python3", ["-m", "venv", folder]);
      const flags = ["install", "--quiet", "--disable-pip-version-check", "--no-compile"];
      await mustRun(python, ["-m", "pip", ...flags, `ziglang==${VERSION}`], { env: childEnvironment() });
    } catch (error) {
      remove(folder);
      throw error;
    }
  });
}
