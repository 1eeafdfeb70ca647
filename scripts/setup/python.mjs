// Finds a Python that can make the runtime's environments.

import { readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { run, SetupError } from "./child.mjs";

/** What the pinned packages have releases for. */
const OLDEST = 11;
const NEWEST = 14;

const INSTALL = "`apt install python3 python3-venv` or `brew install python` installs it";

/** No Python here will do; the message says what to install. */
export class PythonMissing extends SetupError {}

/**
 * @param {number} [oldest] the minor version that is needed at least
 * @returns {Promise<{ path: string, version: string }>}
 */
export async function findPython(oldest = OLDEST) {
  const names = process.env.PYTHON ? [process.env.PYTHON] : ["python3"];
  for (let minor = NEWEST; minor >= oldest; minor--) names.push(`python3.${minor}`);
  let reason = "none was found";
  for (const name of [...names, ...ofPyenv()]) {
    const { status, output } = await run(name, ["-c", "import sys; print(sys.executable, *sys.version_info[:2])"]);
    if (status !== 0) continue;
    const [, path, major, minor] = /^(.*) (\d+) (\d+)$/m.exec(output) ?? [];
    if (major !== "3" || Number(minor) < oldest || Number(minor) > NEWEST) {
      reason = `${path} is ${major}.${minor}`;
      continue;
    }
    if ((await run(path, ["-c", "import venv, ensurepip"])).status === 0) return { path, version: `3.${minor}` };
    reason = `${path} is 3.${minor}, but its venv module is missing`;
  }
  throw new PythonMissing(`Python 3.${oldest} to 3.${NEWEST} with venv is needed, and ${reason}: ${INSTALL}.`);
}

/** pyenv keeps Pythons that aren't on the PATH, the newest first. */
function ofPyenv() {
  const versions = join(process.env.PYENV_ROOT ?? join(homedir(), ".pyenv"), "versions");
  let names = [];
  try {
    names = readdirSync(versions).filter((name) => /^3\.\d+\.\d+$/.test(name));
  } catch {
    // There is no pyenv.
  }
  names.sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
  return names.map((name) => join(versions, name, "bin", "python3"));
}
