// Publishes what is in this working tree to a registry on this machine.

import { appendFileSync, cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { childEnvironment, main, mustRun, SetupError } from "../setup/child.mjs";
import { read, remove, writeWhole } from "../setup/fingerprint.mjs";
import { cache, root } from "../setup/paths.mjs";
import { say, step } from "../setup/progress.mjs";
import { setup } from "../setup.mjs";
import { publishedPackages } from "./packages.mjs";
import { startRegistry } from "./registry.mjs";

const HELP = `npm run publish:rehearse [-- --as-built]

Publishes what is in this working tree to a registry on this machine, twice, as it would be published: the first release, and one more
after a fix. Then it installs the packages from there and uses them. With --as-built no package is built before.`;

const folder = join(tmpdir(), `tesseract-rehearsal-${process.pid}`);
const repository = join(folder, "repository");
const project = join(folder, "project");

const env = {
  ...childEnvironment(),
  GIT_AUTHOR_NAME: "rehearsal",
  GIT_AUTHOR_EMAIL: "rehearsal@localhost",
  GIT_COMMITTER_NAME: "rehearsal",
  GIT_COMMITTER_EMAIL: "rehearsal@localhost",
  NX_DAEMON: "false",
  NX_TUI: "false",
  NX_NO_CLOUD: "true",
  NX_CACHE_DIRECTORY: join(folder, "nx"),
  NX_WORKSPACE_DATA_DIRECTORY: join(folder, "nx-data"),
};

/** A Tesseract that is served, and called. */
const PROGRAM = `
import { fromUrl } from "@tesseract-ts/core";
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { serve } from "@tesseract-ts/serve";
import { host } from "@tesseract-ts/transport-host";
import { z } from "zod";

const scale = defineTesseract({
  name: "scale",
  inputs: z.object({ x: array("float64", [null]) }),
  outputs: z.object({ y: array("float64", [null]) }),
  apply: ({ x }) => ({ y: x.data.map((value) => value * 2) }),
});
const served = await serve(scale, { port: 0 });
const tess = await fromUrl(served.url, { transports: [host()] });
console.log((await tess.apply({ x: [1, 2, 3] })).y.data.join(" "));
await tess.close();
await served.close();
`;

await main(rehearseAll, { help: HELP, options: { "as-built": { type: "boolean" } } });

async function rehearseAll({ values }) {
  mkdirSync(folder, { mode: 0o700 });
  try {
    if (!values["as-built"]) await setup({ runtimes: [] });
    const prebuilds = ["run", "prebuilds", "--silent", "-w", "packages/transport-cuda-ipc"];
    await step("prebuilt addons", () => mustRun("npm", prebuilds, { cwd: root, env: childEnvironment() }));
    await step("a copy of the working tree", copyRepository);
    const registry = await startRegistry(folder);
    try {
      await rehearse(registry.url);
    } finally {
      await registry.stop();
    }
  } finally {
    remove(folder);
  }
  return 0;
}

async function rehearse(url) {
  const first = versionNow();
  await commitToken(url);
  // The first release keeps the version that the packages have; later ones follow from the commits.
  await step(`first release: ${first}`, () => publish(url, first));
  await expectPublished(url);
  await commitFix();
  await step("release after a fix", () => publish(url));
  const next = versionNow();
  if (next === first) throw new SetupError("The second release has the version of the first");
  await expectPublished(url);
  expectChangelogs(next);
  await step("install them from there, and use them", () => installAndUse(url));
  const raised = Object.values(versionsNow()).filter((version) => version === next).length;
  say(`\nPublished ${Object.keys(versionsNow()).length} packages as ${first}, and ${raised} of them as ${next}.`);
}

function versionNow() {
  return JSON.parse(read(join(repository, "lerna.json"))).version;
}

function git(...args) {
  return mustRun("git", args, { cwd: repository, env });
}

/** The last commit, what has changed since, and what was built. */
async function copyRepository() {
  await mustRun("git", ["clone", "--quiet", "--no-hardlinks", root, repository], { cwd: root, env });
  const listed = await mustRun("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], { cwd: root });
  for (const path of listed.split("\0").filter(Boolean)) {
    if (existsSync(join(root, path))) cpSync(join(root, path), join(repository, path));
    else rmSync(join(repository, path), { force: true });
  }
  for (const { folder: name, path } of publishedPackages()) {
    for (const built of ["dist", "prebuilds"]) {
      if (existsSync(join(path, built)))
        cpSync(join(path, built), join(repository, "packages", name, built), { recursive: true });
    }
  }
  symlinkSync(join(root, "node_modules"), join(repository, "node_modules"));
  appendFileSync(join(repository, ".git", "info", "exclude"), "node_modules\n");
  // By these the check before publishing knows that the addons are made from the sources.
  cpSync(join(cache, "builds"), join(repository, ".cache", "builds"), { recursive: true });
  await git("add", "--all");
  if ((await git("status", "--porcelain")) !== "")
    await git("commit", "--quiet", "--message", "chore: what is rehearsed");
}

/** `lerna publish`, without a push. */
async function publish(url, ...version) {
  const lerna = join(root, "node_modules", "lerna", "dist", "cli.js");
  const args = ["publish", ...version, "--yes", "--no-push", "--registry", url];
  await mustRun(process.execPath, [lerna, ...args], { cwd: repository, env });
}

/** npm wants a token; this registry takes any. */
async function commitToken(url) {
  appendFileSync(join(repository, ".npmrc"), `//${new URL(url).host}/:_authToken=rehearsal\n`);
  await git("commit", "--quiet", "--all", "--message", "chore: the registry's token");
}

async function commitFix() {
  const file = join(repository, "packages", "core", "README.md");
  writeWhole(file, `${read(file)}\nRehearsed.\n`);
  await git("commit", "--quiet", "--all", "--message", "fix(core): what was rehearsed");
}

/** That every package is there at its version, and what it needs of ours at theirs. One that hasn't changed keeps its version. */
async function expectPublished(url) {
  const versions = versionsNow();
  for (const [name, version] of Object.entries(versions)) {
    const response = await fetch(`${url}/${name.replace("/", "%2f")}`);
    const found = response.ok ? (await response.json()).versions[version] : undefined;
    if (found === undefined) throw new SetupError(`${name}@${version} isn't in the registry`);
    for (const [needed, wanted] of Object.entries(found.dependencies ?? {})) {
      if (needed in versions && wanted !== versions[needed]) {
        throw new SetupError(`${name}@${version} depends on ${needed}@${wanted}, which is at ${versions[needed]}`);
      }
    }
  }
}

/** By name. */
function versionsNow() {
  return Object.fromEntries(publishedPackages(repository).map(({ manifest }) => [manifest.name, manifest.version]));
}

function expectChangelogs(version) {
  const all = read(join(repository, "CHANGELOG.md"));
  const cores = read(join(repository, "packages", "core", "CHANGELOG.md"));
  for (const text of [all, cores]) {
    if (text.includes(version) && text.includes("what was rehearsed")) continue;
    throw new SetupError(`A changelog lacks ${version} or its fix:\n${text.slice(0, 2_000)}`);
  }
}

async function installAndUse(url) {
  mkdirSync(project, { recursive: true });
  const versions = versionsNow();
  const dependencies = { ...versions, ...peers() };
  writeWhole(
    join(project, "package.json"),
    JSON.stringify({ name: "project", private: true, type: "module", dependencies }),
  );
  writeWhole(join(project, ".npmrc"), `@tesseract-ts:registry=${url}\n`);
  const flags = ["--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"];
  await mustRun("npm", ["install", ...flags], { cwd: project, env: childEnvironment() });
  for (const [name, version] of Object.entries(versions)) {
    const found = JSON.parse(read(join(project, "node_modules", name, "package.json"))).version;
    if (found !== version) throw new SetupError(`${name} is ${found}`);
  }
  const file = join(project, "program.mjs");
  writeWhole(file, PROGRAM);
  const said = await mustRun(process.execPath, [file], { cwd: dirname(file), env: childEnvironment() });
  if (said !== "2 4 6\n") throw new SetupError(`The program said ${said}`);
}

/** What packages ask of the project, at the versions that they are tested with. */
function peers() {
  const needed = publishedPackages(repository).flatMap(({ manifest }) =>
    Object.keys(manifest.peerDependencies ?? {})
      .filter((name) => !name.startsWith("@tesseract-ts/") && !manifest.peerDependenciesMeta?.[name]?.optional)
      .map((name) => [name, manifest.devDependencies?.[name] ?? manifest.peerDependencies[name]]),
  );
  return Object.fromEntries(needed);
}
