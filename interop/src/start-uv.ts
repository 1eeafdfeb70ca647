/** uv, which builds the environments of Tesseracts in Python. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./python.js";

/** The path of the uv that setup installs. Throws when it isn't there. */
export function findUv(): string {
  const uv = join(repositoryRoot, ".venv-uv/bin/uv");
  if (existsSync(uv)) return uv;
  throw new Error("No uv in .venv-uv: `npm test` (or `node scripts/setup.mjs`) makes it.");
}
