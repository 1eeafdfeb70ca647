// The packages that are published: everything below packages/ that isn't private.

import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { read } from "../setup/fingerprint.mjs";
import { root } from "../setup/paths.mjs";

/** @returns {readonly { folder: string, path: string, manifest: { name: string, version: string, [key: string]: unknown } }[]} */
export function publishedPackages(repository = root) {
  const parent = join(repository, "packages");
  return readdirSync(parent)
    .map((folder) => ({ folder, path: join(parent, folder) }))
    .filter(({ path }) => existsSync(join(path, "package.json")))
    .map(({ folder, path }) => ({ folder, path, manifest: JSON.parse(read(join(path, "package.json"))) }))
    .filter(({ manifest }) => manifest.private !== true);
}
