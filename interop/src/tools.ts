// Tools that read a Tesseract's OpenAPI document, in Python environments of their own.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./python.js";

export interface Tool {
  readonly path: string;
  /** What is missing, or `undefined` when nothing is. */
  readonly missing: string | undefined;
}

/** @param paths of which the first that is there is taken */
function tool(hint: string, ...paths: readonly [string, ...string[]]): Tool {
  const whole = paths.map((path) => join(repositoryRoot, path)) as [string, ...string[]];
  const found = whole.find((path) => existsSync(path));
  return { path: found ?? whole[0], missing: found === undefined ? hint : undefined };
}

export const schemathesis = tool(
  "No schemathesis: `npm run setup` makes its environment",
  ".venv-schemathesis/bin/st",
  ".venv-tools/bin/st",
);

export const streamlit = tool(
  "No tesseract-streamlit (with VTK, 1.6 GB, which is why setup leaves it out but in CI): " +
    "python3 -m venv .venv-tools && .venv-tools/bin/pip install -r requirements/tools.txt",
  ".venv-tools/bin/tesseract-streamlit",
);
