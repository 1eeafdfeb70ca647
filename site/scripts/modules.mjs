// The packages that the API reference is about.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Entry points by the name of their folder in docs/api, in the order of the site's contents. */
export const entries = {
  core: "packages/core/src/index.ts",
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

/** The name that a package is installed by. */
export const packageNameOf = (module) =>
  module === "inprocess-jax"
    ? "@tesseract-ts/inprocess/jax"
    : JSON.parse(readFileSync(join(root, "packages", module, "package.json"), "utf8")).name;
