// Tools that read a Tesseract's OpenAPI document, in a Python environment of their own.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "./python.js";

const folder = join(repositoryRoot, ".venv-tools/bin");

/** The path of a program that requirements/tools.txt brings. */
export const tool = (name: string): string => join(folder, name);

/** What is missing, or `undefined` when nothing is. */
export const missingTools = existsSync(tool("st"))
  ? undefined
  : "No schemathesis and no tesseract-streamlit (with VTK, more than 1 GB, which is why setup leaves them out): " +
    "python3 -m venv .venv-tools && .venv-tools/bin/pip install -r requirements/tools.txt";
