// A registry of npm packages on this machine: Verdaccio, installed into the cache, without any other registry behind it.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { childEnvironment, mustRun, SetupError } from "../setup/child.mjs";
import { remove, writeWhole } from "../setup/fingerprint.mjs";
import { cache } from "../setup/paths.mjs";
import { step } from "../setup/progress.mjs";
import { installNode } from "../test/nodes.mjs";

const VERSION = "6.10.4";
/** Verdaccio needs Node 22. */
const NODE = "22.23.3";
const START_MS = 300_000;
/** It asks for this one by a tag (`cjs`), which not every mirror of npm has. */
const OVERRIDES = { "node-fetch": "2.7.0" };

/**
 * Starts one that is empty, and keeps its packages in `folder`.
 *
 * @returns {Promise<{ url: string, stop(): Promise<void> }>}
 */
export async function startRegistry(folder) {
  const program = await installVerdaccio();
  const node = Number(process.versions.node.split(".")[0]) >= 22 ? process.execPath : await installNode(NODE);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const config = join(folder, "verdaccio.yaml");
  mkdirSync(folder, { recursive: true });
  writeWhole(
    config,
    [
      `storage: ${JSON.stringify(join(folder, "storage"))}`,
      "uplinks: {}",
      "web: { enable: false }",
      `packages: { "**": { access: $all, publish: $all } }`,
      "max_body_size: 100mb",
      "log: { type: stdout, format: pretty, level: warn }",
      "",
    ].join("\n"),
  );
  const child = spawn(node, [program, "--config", config, "--listen", `127.0.0.1:${port}`], {
    env: childEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  const ended = new Promise((resolve) => child.once("close", resolve));
  const stop = async () => {
    process.off("exit", kill);
    child.kill();
    await ended;
  };
  const kill = () => child.kill("SIGKILL");
  process.once("exit", kill);
  const until = performance.now() + START_MS;
  while (!(await answers(url))) {
    if (child.exitCode !== null || performance.now() > until) {
      await stop();
      throw new SetupError(`Verdaccio didn't start:\n${said}`);
    }
    await sleep(100);
  }
  return { url, stop };
}

async function installVerdaccio() {
  const folder = join(cache, `verdaccio-${VERSION}`);
  const program = (parent) => join(parent, "node_modules", "verdaccio", "bin", "verdaccio");
  if (existsSync(program(folder))) return program(folder);
  await step(`Verdaccio ${VERSION}`, async () => {
    const temporary = `${folder}.${process.pid}`;
    try {
      mkdirSync(temporary, { recursive: true });
      writeWhole(join(temporary, "package.json"), JSON.stringify({ private: true, overrides: OVERRIDES }));
      const flags = ["--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--engine-strict=false"];
      await mustRun("npm", ["install", ...flags, `verdaccio@${VERSION}`], { cwd: temporary, env: childEnvironment() });
      remove(folder);
      renameSync(temporary, folder);
    } finally {
      remove(temporary);
    }
  });
  return program(folder);
}

async function answers(url) {
  try {
    return (await fetch(`${url}/-/ping`)).ok;
  } catch {
    return false;
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
