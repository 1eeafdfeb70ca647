// Makes what is missing: npm packages, builds, Python environments.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { buildPackages } from "./setup/builds.mjs";
import { main } from "./setup/child.mjs";
import { installDependencies } from "./setup/dependencies.mjs";
import { withLock } from "./setup/lock.mjs";
import { checkNode } from "./setup/node-version.mjs";
import { cache } from "./setup/paths.mjs";
import { findPython } from "./setup/python.mjs";
import { makeRuntimes, missingRuntimes } from "./setup/runtimes.mjs";

/** The runtime that examples use. */
export const CURRENT_RUNTIME = "runtime-1.15";
/** VTK comes with tesseract-streamlit, and CUDA with PyTorch: 8 GB that only CI takes without being asked. */
export const ALL_RUNTIMES = [
  "uv",
  CURRENT_RUNTIME,
  "runtime-1.13",
  "runtime-1.12",
  "jax",
  ...(process.env.CI ? ["tools", "torch"] : ["schemathesis"]),
];

/**
 * @param {object} needs
 * @param {readonly string[]} needs.runtimes environments of Python, none to need no Python
 * @param {readonly string[]} [needs.packages] folders of packages that have to be built; all if left out
 */
export async function setup({ runtimes, packages: folders }) {
  checkNode();
  await withLock(join(cache, "setup.lock"), async () => {
    const missing = await missingRuntimes(runtimes);
    if (missing.length > 0) await findPython(); // tells at once if there is none
    const packages = async () => {
      await installDependencies();
      await buildPackages(folders);
    };
    // Neither waits for the other's downloads; when one fails, what the other makes is kept.
    const results = await Promise.allSettled([packages(), makeRuntimes(missing)]);
    for (const result of results) if (result.status === "rejected") throw result.reason;
  });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const help = "npm run setup    makes what `npm start` and `npm test` need: npm packages, builds, Python environments";
  await main(
    async () => {
      await setup({ runtimes: ALL_RUNTIMES });
      return 0;
    },
    { help },
  );
}
