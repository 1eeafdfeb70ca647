// Zig's C++ compiler, which builds for every target from any machine; it is installed into the cache.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { childEnvironment, mustRun } from "../../../../scripts/setup/child.mjs";
import { remove } from "../../../../scripts/setup/fingerprint.mjs";
import { withLock } from "../../../../scripts/setup/lock.mjs";
import { cache } from "../../../../scripts/setup/paths.mjs";
import { step } from "../../../../scripts/setup/progress.mjs";
import { findPython } from "../../../../scripts/setup/python.mjs";

export const ZIG = "0.15.2";

const folder = join(cache, `zig-${ZIG}`);
const python = join(folder, "bin", "python");
const isInstalled = () => existsSync(python) && existsSync(join(folder, "bin", "pip"));

/** Installs it, unless it is there. */
export async function installZig() {
  if (isInstalled()) return;
  await withLock(`${folder}.lock`, async () => {
    if (isInstalled()) return;
    const { path } = await findPython();
    await step(`Zig ${ZIG}`, async () => {
      try {
        await mustRun(path, ["-m", "venv", folder]);
        const flags = ["install", "--quiet", "--disable-pip-version-check", "--no-compile"];
        await mustRun(python, ["-m", "pip", ...flags, `ziglang==${ZIG}`], { env: childEnvironment() });
      } catch (error) {
        remove(folder);
        throw error;
      }
    });
  });
}

/**
 * The command that compiles for a target, as `CC` and `CXX` take it.
 *
 * @param {"cc" | "c++"} language
 * @param {import("./targets.mjs").Target} target
 */
export const compiler = (language, { triple }) => `${python} -m ziglang ${language} -target ${triple}`;
