// The npm packages, as package-lock.json has them.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { mustRun } from "./child.mjs";
import { hashOf, read, writeWhole } from "./fingerprint.mjs";
import { root } from "./paths.mjs";
import { step } from "./progress.mjs";

const lockFile = join(root, "package-lock.json");
const stamp = join(root, "node_modules", ".setup-stamp");

/** Installs them if node_modules is missing or isn't what the lock file says. */
export async function installDependencies() {
  const wanted = hashOf(read(lockFile), process.platform, process.arch);
  if (read(stamp) === wanted) return;
  if (!fitsLockFile()) {
    await step("npm packages", () => mustRun("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root }));
  }
  writeWhole(stamp, wanted);
}

/** Whether npm's own record of what it installed, which it writes last, has all that the lock file asks for. */
function fitsLockFile() {
  const record = read(join(root, "node_modules", ".package-lock.json"));
  if (record === "") return false;
  const installed = JSON.parse(record).packages;
  return Object.entries(JSON.parse(read(lockFile)).packages).every(([path, { version, integrity, optional, link }]) => {
    if (!path.includes("node_modules/")) return true;
    const found = installed[path];
    if (found === undefined) return Boolean(optional);
    return Boolean(found.link) === Boolean(link) && found.version === version && found.integrity === integrity
      ? existsSync(join(root, path))
      : false;
  });
}
