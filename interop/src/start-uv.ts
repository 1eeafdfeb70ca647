/** uv, which builds the environments of Tesseracts in Python: this machine's, or a wheel from PyPI. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { findPython, repositoryRoot, runProgram } from "./python.js";

const VERSION = "0.13.9";
const home = join(repositoryRoot, ".cache/uv");
const ours = join(home, `uv-${VERSION}`, "bin/uv");

/** The path of uv. It is installed under .cache if there is none. */
export async function findUv(): Promise<string> {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = folders.map((folder) => join(folder, "uv")).find(existsSync);
  if (found !== undefined || existsSync(ours)) return found ?? ours;
  await mkdir(home, { recursive: true });
  const folder = await mkdtemp(join(home, "new-"));
  try {
    const install = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, `uv==${VERSION}`];
    await runProgram(findPython(), install, { timeout: 300_000 });
    // Another that installed it at the same time has installed the same.
    await rename(folder, join(home, `uv-${VERSION}`)).catch((error) => {
      if (!existsSync(ours)) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return ours;
}
