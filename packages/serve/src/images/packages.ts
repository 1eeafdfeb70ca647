/** The packages that a Tesseract needs, as they are installed here, laid out anew in one `node_modules`. */
import { constants, type Dirent } from "node:fs";
import { copyFile, mkdir, readdir, readFile, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { TesseractError } from "@tesseract-ts/core";

/** What makes images and starts sources, and is of no use within an image. */
const LEFT_OUT: ReadonlySet<string> = new Set(["esbuild", "tsx"]);

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly files?: readonly string[];
  readonly os?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface Installed {
  readonly name: string;
  /** Where it really is: a workspace's packages are links. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** A package at its place in the image. */
interface Placed extends Installed {
  /** `node_modules/a/node_modules/b` */
  readonly place: string;
}

export interface Packages {
  readonly placed: readonly Placed[];
}

/**
 * Finds packages and what they depend on, by the same search as Node's. Two versions of one package stay two.
 *
 * @param wanted by name, with the folder of who imports it
 * @throws TesseractError BUILD_FAILED for one that isn't installed
 */
export async function findPackages(
  wanted: readonly {
    readonly name: string;
    readonly from?: string;
    /** Where it is, if that needn't be looked for. */
    readonly at?: string;
  }[],
): Promise<Packages> {
  const places = new Map<string, Placed>();
  const queue: Placed[] = [];
  const put = (installed: Installed, place: string): void => {
    const placed = { ...installed, place };
    places.set(place, placed);
    queue.push(placed);
  };
  /** The package that a module at `place` gets by this name. */
  const seenFrom = (place: string, name: string): Placed | undefined => {
    for (let folder = place; ; folder = folder.slice(0, folder.lastIndexOf("/node_modules/"))) {
      const found = places.get(`${folder}/node_modules/${name}`);
      if (found !== undefined) return found;
      if (!folder.includes("/node_modules/")) return places.get(`node_modules/${name}`);
    }
  };
  for (const { name, from = "/", at } of wanted) {
    const installed = at === undefined ? await findInstalled(name, from) : await installedAt(name, at);
    if (installed === undefined) throw missing(name, from);
    if (!places.has(`node_modules/${name}`)) put(installed, `node_modules/${name}`);
  }
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    for (const { name, optional } of dependenciesOf(next.manifest)) {
      if (LEFT_OUT.has(name)) continue;
      const installed = await findInstalled(name, next.folder);
      if (installed === undefined) {
        if (optional) continue;
        throw missing(name, next.folder);
      }
      // For another system than containers have.
      if (optional && installed.manifest.os?.includes("linux") === false) continue;
      const seen = seenFrom(next.place, name);
      if (seen?.folder === installed.folder) continue;
      put(installed, seen === undefined ? `node_modules/${name}` : `${next.place}/node_modules/${name}`);
    }
  }
  return { placed: [...places.values()] };
}

function dependenciesOf(manifest: Manifest): readonly { readonly name: string; readonly optional: boolean }[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = manifest;
  const optional = (name: string): boolean =>
    name in optionalDependencies || (!(name in dependencies) && peerDependenciesMeta[name]?.optional === true);
  return [...new Set([...Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })])].map(
    (name) => ({
      name,
      optional: optional(name),
    }),
  );
}

const missing = (name: string, from: string): TesseractError =>
  new TesseractError("BUILD_FAILED", `The package "${name}", which ${from} needs, isn't installed`, {
    hint: `npm install ${name}. Images are made of what is in node_modules.`,
  });

/** Node's own search, for the package rather than a module of it: its exports may hide its package.json. */
async function findInstalled(name: string, from: string): Promise<Installed | undefined> {
  for (let folder = from; ; folder = dirname(folder)) {
    const found = await installedAt(name, join(folder, "node_modules", name));
    if (found !== undefined) return found;
    if (dirname(folder) === folder) return undefined;
  }
}

async function installedAt(name: string, path: string): Promise<Installed | undefined> {
  const manifest = await readManifest(path);
  return manifest === undefined ? undefined : { name, folder: await realpath(path), manifest };
}

export async function readManifest(folder: string): Promise<Manifest | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, "package.json"), "utf8");
  } catch {
    return undefined;
  }
  try {
    return JSON.parse(text) as Manifest;
  } catch (error) {
    throw new TesseractError("BUILD_FAILED", `${join(folder, "package.json")} is no JSON`, { cause: error });
  }
}

/** Packages that are copied at once. */
const LANES = 8;
/** Only compilers read these. */
const declarations = /\.d\.[cm]?ts(\.map)?$/;

/** Copies packages to where they were placed. */
export async function copyPackages({ placed }: Packages, target: string): Promise<void> {
  const queue = [...placed];
  const lane = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      const { folder, manifest, place } = next;
      const only = folder.split(sep).includes("node_modules") ? undefined : publishedFiles(manifest);
      await copyFolder(folder, join(target, place), (path) => !declarations.test(path) && (only?.(path) ?? true));
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Always part of what npm publishes. */
const always = /^(package\.json|readme|licen[cs]e|notice)/i;

/**
 * What of a package that is linked here would be published: its folder has its tests and more. Patterns in `files` are too
 * many to follow: then all of it.
 */
function publishedFiles({ files }: Manifest): ((path: string) => boolean) | undefined {
  if (files === undefined || files.some((name) => /[*?!{[]/.test(name))) return undefined;
  const kept = files.map((name) => name.replace(/^\.?\/|\/$/g, ""));
  return (path) =>
    always.test(path) ||
    // An addon that was built here rather than installed.
    /^build(\/Release(\/[^/]+\.node)?)?$/.test(path) ||
    kept.some((name) => path === name || path.startsWith(`${name}/`) || name.startsWith(`${path}/`));
}

const notOurs: ReadonlySet<string> = new Set(["node_modules", ".git", ".cache"]);

/** Follows links, since what they point to may not be in the image. */
async function copyFolder(from: string, to: string, wanted: (path: string) => boolean): Promise<void> {
  const copy = async (folder: string): Promise<void> => {
    const entries: readonly Dirent[] = await readdir(join(from, folder), { withFileTypes: true });
    await mkdir(join(to, folder), { recursive: true });
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (notOurs.has(entry.name) || !wanted(relative(".", path).split(sep).join("/"))) continue;
      const isFolder = entry.isSymbolicLink() ? (await stat(join(from, path))).isDirectory() : entry.isDirectory();
      if (isFolder) await copy(path);
      else await copyFile(join(from, path), join(to, path), constants.COPYFILE_FICLONE);
    }
  };
  await copy("");
}
