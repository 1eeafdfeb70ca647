/** The packages as `npm publish` would publish them: tarballs, what is in them, and projects that install them. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { repositoryRoot } from "../python.js";

const run = promisify(execFile);

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly private?: boolean;
  readonly license?: string;
  readonly main?: string;
  readonly module?: string;
  readonly bin?: Readonly<Record<string, string>>;
  /** Paths of files; false for none. */
  readonly sideEffects?: false | readonly string[];
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly imports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface Package {
  /** Below `packages`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

export interface Packed extends Package {
  readonly tarball: string;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

/** Everything below `packages` that isn't private. */
export const packages: readonly Package[] = readdirSync(join(repositoryRoot, "packages"))
  .filter((folder) => existsSync(join(repositoryRoot, "packages", folder, "package.json")))
  .map((folder) => ({ folder, manifest: readManifest(join(repositoryRoot, "packages", folder)) }))
  .filter(({ manifest }) => manifest.private !== true);

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** Packs them into a folder, as they are built. */
export async function pack(destination: string, which = packages): Promise<readonly Packed[]> {
  const workspaces = which.flatMap(({ folder }) => ["-w", `packages/${folder}`]);
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", destination, ...workspaces];
  const { stdout } = await run("npm", args, { cwd: repositoryRoot, maxBuffer: 2 ** 26 });
  const said: unknown = JSON.parse(stdout);
  // A list, or since npm 11.9 an object by name.
  const entries = (Array.isArray(said) ? said : Object.values(said as object)) as {
    readonly name: string;
    readonly filename: string;
    readonly files: Packed["files"];
  }[];
  return which.map((one) => {
    const entry = entries.find(({ name }) => name === one.manifest.name);
    if (entry === undefined) throw new Error(`npm pack made no tarball of ${one.manifest.name}`);
    return { ...one, tarball: join(destination, entry.filename), files: entry.files };
  });
}

export async function unpack(tarball: string, folder: string): Promise<void> {
  await run("tar", ["-xzf", tarball, "-C", folder, "--strip-components", "1"]);
}

/** The paths that a package's `exports` offer, as a program imports them; not those of data. */
export function entryPoints({ manifest }: Package): readonly string[] {
  return Object.entries(manifest.exports ?? {})
    .filter(([, target]) => typeof target === "object")
    .map(([path]) => join(manifest.name, path));
}

/** Peer dependencies that a program may do without. */
export const optionalPeers = ({ manifest }: Package): readonly string[] =>
  Object.entries(manifest.peerDependenciesMeta ?? {})
    .filter(([, { optional }]) => optional === true)
    .map(([name]) => name);
