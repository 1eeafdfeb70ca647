/** Empty projects that install the packed packages with npm, as a user would. */
import { execFile } from "node:child_process";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../python.js";
import { type Manifest, optionalPeers, type Packed } from "./packed.js";

const run = promisify(execFile);

/** What npm says when it can't reach a registry. */
const OFFLINE = /\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b/;

/** The registry can't be reached. */
export class Offline extends Error {}

/**
 * A project that installs these packages, what they depend on, and peers that they can't do without. Other packages of ours come
 * from their tarballs as well; all else from the registry.
 *
 * @throws Offline
 */
export async function install(
  folder: string,
  wanted: readonly Packed[],
  all: readonly Packed[],
  more: Readonly<Record<string, string>> = {},
): Promise<void> {
  const tarballs = (which: readonly Packed[]): Record<string, string> =>
    Object.fromEntries(which.map(({ manifest, tarball }) => [manifest.name, `file:${tarball}`]));
  const peers = Object.assign({}, ...wanted.map(requiredPeers)) as Record<string, string>;
  const manifest = {
    name: "project",
    version: "1.0.0",
    private: true,
    dependencies: { ...peers, ...more, ...tarballs(wanted) },
    overrides: tarballs(all.filter((one) => !wanted.includes(one))),
  };
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest, undefined, 2));
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
  try {
    await run("npm", ["install", ...flags], { cwd: folder });
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    if (OFFLINE.test(stderr))
      throw new Offline("npm's registry can't be reached, from which dependencies are installed");
    throw error;
  }
}

/** At the versions that they are tested with here. */
function requiredPeers(one: Packed): Record<string, string> {
  const { peerDependencies = {}, devDependencies = {} }: Manifest = one.manifest;
  const optional = optionalPeers(one);
  const names = Object.keys(peerDependencies).filter((name) => !optional.includes(name));
  return Object.fromEntries(names.map((name) => [name, devDependencies[name] ?? peerDependencies[name] ?? "*"]));
}

/** Gives a project something that is installed here, such as the types of Node. */
export async function lend(folder: string, name: string): Promise<void> {
  const target = join(folder, "node_modules", name);
  await mkdir(dirname(target), { recursive: true });
  await symlink(join(repositoryRoot, "node_modules", name), target);
}
