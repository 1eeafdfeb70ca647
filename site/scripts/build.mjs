// `npm run docs:build`: installs what the site needs, writes the API reference, and builds the site into site/.vitepress/dist.
// `npm run docs` does the same, and serves it while pages are written.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const site = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(site, "node_modules", ".setup-stamp");

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: site, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Its own packages, as its own lock file has them: they bring another Vite than the one that the tests run on. */
function install() {
  const wanted = createHash("sha256")
    .update(readFileSync(join(site, "package-lock.json")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  run("npm", ["ci", "--no-audit", "--no-fund"]);
  writeFileSync(stamp, wanted);
}

install();
const { writeApiReference } = await import("./api.mjs");
await writeApiReference();
const vitepress = join(site, "node_modules", "vitepress", "bin", "vitepress.js");
run(process.execPath, [vitepress, process.argv.includes("--serve") ? "dev" : "build"]);
