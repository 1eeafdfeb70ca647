/** Empty projects that install the packed packages with npm, as a user would. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../python.js";
import { type Manifest, optionalPeers, type Packed } from "./packed.js";

const run = promisify(execFile);

/** What npm says when it can't reach a registry. */
export const OFFLINE = /\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|ENOTCACHED)\b/;

/** The registry can't be reached. */
export class Offline extends Error {}

export interface InstallOptions {
  /** Packages' install scripts run, and what they print is in the output. */
  readonly scripts?: boolean;
  /** More of npm's. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A project that installs these packages, what they depend on, and peers that they can't do without. Other packages of ours come
 * from their tarballs as well; all else from the registry. Gives what npm prints.
 *
 * @throws Offline
 */
export async function install(
  folder: string,
  wanted: readonly Packed[],
  all: readonly Packed[],
  { scripts = false, flags = [], env = {} }: InstallOptions = {},
): Promise<string> {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify(projectOf(wanted, all), undefined, 2));
  const ofScripts = scripts ? "--foreground-scripts" : "--ignore-scripts";
  const common = ["--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"];
  try {
    const options = { cwd: folder, env: { ...process.env, ...env } };
    const { stdout, stderr } = await run("npm", ["install", ofScripts, ...common, ...flags], options);
    return stdout + stderr;
  } catch (error) {
    const { stderr = "" } = error as { stderr?: string };
    if (OFFLINE.test(stderr))
      throw new Offline("npm's registry can't be reached, from which dependencies are installed");
    throw error;
  }
}

/** Its manifest. Where the tarballs lie at another place for npm, `at` says where. */
export function projectOf(
  wanted: readonly Packed[],
  all: readonly Packed[],
  at: (tarball: string) => string = (tarball) => tarball,
): Readonly<Record<string, unknown>> {
  const tarballs = (which: readonly Packed[]): Record<string, string> =>
    Object.fromEntries(which.map(({ manifest, tarball }) => [manifest.name, `file:${at(tarball)}`]));
  const peers = Object.assign({}, ...wanted.map(requiredPeers)) as Record<string, string>;
  return {
    name: "project",
    version: "1.0.0",
    private: true,
    dependencies: { ...peers, ...tarballs(wanted) },
    overrides: tarballs(all.filter((one) => !wanted.some(({ folder }) => folder === one.folder))),
  };
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

/** A program of this machine's. */
export async function programNamed(name: string): Promise<string> {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = folders.map((place) => join(place, name)).find((path) => existsSync(path));
  if (found === undefined) throw new Error(`${name} isn't on PATH`);
  return realpath(found);
}
