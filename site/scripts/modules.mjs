// The packages that the API reference is about.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Entry points by the name of their folder in docs/api, in the order of the site's contents. */
export const entries = {
  core: "packages/core/src/index.ts",
  "core-adapters": "packages/core/src/adapters/index.ts",
  "core-message": "packages/core/src/message/index.ts",
  "transport-host": "packages/transport-host/src/index.ts",
  "transport-cuda-ipc": "packages/transport-cuda-ipc/src/index.ts",
  inprocess: "packages/inprocess/src/index.ts",
  "inprocess-jax": "packages/inprocess/src/jax/index.ts",
  serve: "packages/serve/src/index.ts",
  "jax-bridge": "packages/jax-bridge/src/index.ts",
  testkit: "packages/testkit/src/index.ts",
  "cuda-simulator": "packages/cuda-simulator/src/index.ts",
};

/** The names of the modules, for the site's contents. */
export const modules = Object.keys(entries);

/** Parts of packages that are imported by a path of their own, with what they are for. */
const parts = {
  "core-adapters": ["core", "adapters", "Arrays of other libraries, both ways."],
  "core-message": ["core", "message", "Messages as the other side reads and writes them, for what serves Tesseracts."],
  "inprocess-jax": ["inprocess", "jax", "A Tesseract from one function of jax-js."],
};

const manifestOf = (folder) => JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8"));

/** What stands behind `from` where it is imported. */
export function packageNameOf(module) {
  const [folder, path] = parts[module] ?? [module];
  const { name } = manifestOf(folder);
  return path === undefined ? name : `${name}/${path}`;
}

/** A sentence. */
export const descriptionOf = (module) => parts[module]?.[2] ?? manifestOf(module).description;
