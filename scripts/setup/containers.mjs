// Gets a container engine ready for tests, with two images that need no registry. What can't be had is a reason, not an error.
//
//   node scripts/setup/containers.mjs    prints, as JSON, { command, node, reference, publishes } or { reason }

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeNodeRootfs, makeReferenceRootfs, tesseracts } from "../../interop/containers/rootfs.mjs";
import { childEnvironment, main, mustRun, run, SetupError } from "./child.mjs";
import { hashOf, hashOfFiles, read, writeWhole } from "./fingerprint.mjs";
import { withLock } from "./lock.mjs";
import { cache, root } from "./paths.mjs";

const home = join(cache, "containers");
const recipes = join(root, "interop", "containers");
const label = "io.tesseract-ts.test=1";

/**
 * @typedef {object} TestEngine
 * @property {readonly string[]} command
 * @property {string} node an image with Node in it
 * @property {string} reference an image of the reference's, where there is its environment
 * @property {boolean} publishes whether a container's ports can be published: if not, it has to use the host's network
 */

/** @returns {Promise<TestEngine | { reason: string }>} */
export function prepareContainers() {
  return withLock(join(home, "setup.lock"), async () => {
    const reasons = [];
    for (const command of candidates()) {
      const found = await prepare(command);
      if (found.reason === undefined) return found;
      reasons.push(`${command[0]}${command.length > 1 ? " (as in tests)" : ""}: ${found.reason}`);
    }
    return {
      reason: reasons.length === 0 ? "neither podman nor docker is installed" : [...new Set(reasons)].join("; "),
    };
  });
}

/** Commands to try, in this order. */
function candidates() {
  if (process.env.TESSERACT_ENGINE) return [process.env.TESSERACT_ENGINE.split(/\s+/)];
  const podman = onPath("podman");
  const commands = [];
  if (podman && process.platform === "linux" && process.getuid?.() === 0) {
    // Images and containers of its own, whatever else runs here.
    for (const [driver, runtime] of [
      ["overlay", []],
      ["overlay", ["--runtime", join(recipes, "oci-runtime")]],
      ["vfs", ["--runtime", join(recipes, "oci-runtime")]],
    ]) {
      const places = ["--root", join(home, driver), "--runroot", runRoot(driver)];
      commands.push(["podman", ...places, "--storage-driver", driver, "--cgroup-manager", "cgroupfs", ...runtime]);
    }
  } else if (podman) commands.push(["podman"]);
  if (onPath("docker")) commands.push(["docker"]);
  return commands;
}

/** Podman's sockets are in it, whose paths can't be long. */
const runRoot = (driver) => join(tmpdir(), `podman-${driver}-${hashOf(root).slice(0, 8)}`);

const onPath = (name) => (process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));

/** Whether images can be built and run by this engine, and those of the tests. */
async function prepare(command) {
  try {
    const version = await engine(command, "version");
    if (version.status !== 0) return { reason: lastLine(version.output) };
    const node = await image(command, "node", [process.execPath], (folder) => makeNodeRootfs(folder));
    const tried = await engine(command, "run", "--rm", "--network", "host", node, "node", "-p", "40 + 2");
    if (tried.status !== 0 || !/^42$/m.test(tried.output)) return { reason: lastLine(tried.output) };
    const reference = await referenceImage(command);
    return {
      command,
      node,
      ...(reference === undefined ? {} : { reference }),
      publishes: await publishes(command, node),
    };
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    return { reason: lastLine(error.message.split("\n\n`")[0]) };
  }
}

function referenceImage(command) {
  if (!existsSync(join(root, ".venv", "bin", "python"))) return undefined;
  const inputs = [read(join(root, ".venv", ".stamp")), hashOfFiles(root, Object.values(tesseracts))];
  return image(command, "reference", inputs, (folder) => makeReferenceRootfs(folder));
}

/** Builds an image, unless there is one of the same. */
async function image(command, name, inputs, makeRootfs) {
  const hash = hashOf(hashOfFiles(recipes, [`Containerfile.${name}`, "rootfs.mjs", "python-files.py"]), ...inputs);
  const tag = `localhost/tesseract-ts-test-${name}:${hash.slice(0, 12)}`;
  if ((await engine(command, "image", "inspect", tag)).status === 0) return tag;
  await mkdir(home, { recursive: true });
  const folder = await mkdtemp(join(home, `${name}-`));
  try {
    const before = process.umask(0o022);
    try {
      await makeRootfs(join(folder, "rootfs"));
    } finally {
      process.umask(before);
    }
    const isPodman = command[0]?.includes("podman") ?? false;
    const own = isPodman ? ["--layers=false", "--format", "docker"] : [];
    const file = join(recipes, `Containerfile.${name}`);
    await mustRun(command[0], [
      ...command.slice(1),
      "build",
      ...own,
      "--label",
      label,
      "--tag",
      tag,
      "--file",
      file,
      folder,
    ]);
    await removeOthers(command, tag);
    return tag;
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Images of earlier recipes. */
async function removeOthers(command, tag) {
  const [repository] = tag.split(/:(?=[^:]*$)/);
  const { output } = await engine(command, "images", "--format", "{{.Repository}}:{{.Tag}}");
  for (const other of output.split("\n")) {
    if (other.startsWith(`${repository}:`) && other !== tag) await engine(command, "rmi", other);
  }
}

/** Whether this machine's programs reach a published port: that takes rights that a container may not have. */
async function publishes(command, node) {
  const stamp = join(home, "publishes.json");
  const known = hashOf(...command, node);
  const before = JSON.parse(read(stamp) || "{}");
  if (before.of === known) return before.publishes;
  const port = await freePort();
  const name = `tesseract-ts-probe-${process.pid}`;
  const program = "require('http').createServer((_, answer) => answer.end('here')).listen(8000)";
  const started = await engine(
    command,
    "run",
    "--detach",
    "--name",
    name,
    "--publish",
    `127.0.0.1:${port}:8000`,
    node,
    "node",
    "-e",
    program,
  );
  let reached = false;
  for (let attempt = 0; started.status === 0 && !reached && attempt < 50; attempt++) {
    reached = await fetch(`http://127.0.0.1:${port}`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ ok }) => ok,
      () => new Promise((resolve) => setTimeout(resolve, 200, false)),
    );
  }
  await engine(command, "rm", "--force", name);
  writeWhole(
    stamp,
    JSON.stringify({ of: known, publishes: reached, ...(reached ? {} : { reason: lastLine(started.output) }) }),
  );
  return reached;
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const engine = ([program, ...first], ...args) =>
  run(program, [...first, ...args], { env: { ...childEnvironment(), TESSERACT_TEST_NODE: process.execPath } });

const lastLine = (text) => text.trim().split("\n").at(-1)?.trim() || "it says nothing";

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  await main(async () => {
    console.log(JSON.stringify(await prepareContainers()));
    return 0;
  });
}
