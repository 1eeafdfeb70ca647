/** The folder that an image is built from: a recipe, and what it copies. */
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, stat, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { TesseractError } from "@tesseract-ts/core";
import { environmentWith } from "../start/environment.js";
import { bundle } from "./bundle.js";
import { containerfile } from "./containerfile.js";
import { ownPackage } from "./own-package.js";
import { copyPackages, findPackages } from "./packages.js";

/** Milliseconds that a module has to load. */
const LOAD_MS = 120_000;
const run = promisify(execFile);

export interface ContextOptions {
  readonly base: string;
  /** Files and folders that the Tesseract reads, relative to its own folder. */
  readonly include: readonly string[];
  /** Packages that it needs and doesn't import by name. */
  readonly packages: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly signal: AbortSignal | undefined;
  readonly onStep: (message: string) => void;
}

export interface ImageContext {
  readonly name: string;
  readonly version: string;
}

/**
 * Writes `Containerfile` and the folder `tesseract` into an empty folder, and sees that the Tesseract loads from there.
 *
 * @throws TesseractError BUILD_FAILED, INVALID_ARGUMENT, ABORTED
 */
export async function writeContext(file: string, folder: string, options: ContextOptions): Promise<ImageContext> {
  const { signal, onStep } = options;
  const home = join(folder, "tesseract");
  const sourceFolder = dirname(file);
  const included = options.include.map((path) => resolve(sourceFolder, path));
  for (const path of included) {
    if ((await stat(path).catch(() => undefined)) === undefined) {
      throw new TesseractError("INVALID_ARGUMENT", `${path}, which the image is to include, doesn't exist`);
    }
  }
  onStep(`Compiling ${file}`);
  const { files, entry, packages, root } = await bundle(file, (sources) => folderAbove([...sources, ...included]));
  signal?.throwIfAborted();
  for (const { path, contents } of files) await put(join(home, path), contents);
  for (const path of included) await cp(path, join(home, relative(root, path)), { recursive: true, dereference: true });
  await put(join(home, "package.json"), `${JSON.stringify({ private: true, type: "module" })}\n`);
  // Whoever the container runs as.
  for (const [name, mode] of [
    ["input_data", 0o755],
    ["output_data", 0o777],
  ] as const) {
    await mkdir(join(home, name), { recursive: true });
    await chmod(join(home, name), mode);
  }

  onStep("Copying packages");
  const own = await ownPackage();
  const found = await findPackages([
    { name: own.name, at: own.folder },
    ...[...packages].map(([name, importer]) => ({ name, from: dirname(importer) })),
    ...options.packages.map((name) => ({ name, from: sourceFolder })),
  ]);
  await copyPackages(found, home);
  signal?.throwIfAborted();

  onStep("Loading it as the image will");
  const program = join("node_modules", own.name, "dist", "image-entry.js");
  const { name, version, description } = await check(home, entry, program, options);
  const recipe = containerfile({
    base: options.base,
    name,
    version,
    description,
    entry: entry.split(sep).join("/"),
    program: program.split(sep).join("/"),
    runtime: `${own.name} ${own.version}`,
    environment: options.environment,
  });
  await writeFile(join(folder, "Containerfile"), recipe);
  return { name, version };
}

async function put(path: string, contents: string | Uint8Array): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, contents);
}

/** The folder that all of these are in. */
function folderAbove(paths: readonly string[]): string {
  let folder = dirname(paths[0] ?? "/");
  const outside = (path: string): boolean => {
    const way = relative(folder, path);
    return way.startsWith("..") || isAbsolute(way);
  };
  while (paths.some(outside) && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

async function check(
  home: string,
  entry: string,
  program: string,
  { environment, signal }: ContextOptions,
): Promise<{ readonly name: string; readonly version: string; readonly description: string }> {
  const env = environmentWith(
    { ...environment, TESSERACT_API_PATH: join(home, entry), TESSERACT_RUNTIME_API_PATH: join(home, entry) },
    ["NODE_OPTIONS", "NODE_PATH"],
  );
  try {
    const { stdout } = await run(process.execPath, [join(home, program), "check"], {
      cwd: home,
      env,
      timeout: LOAD_MS,
      ...(signal === undefined ? {} : { signal }),
    });
    return JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  } catch (error) {
    signal?.throwIfAborted();
    const { stderr = "" } = error as { readonly stderr?: string };
    const log = stderr.trim().split("\n");
    const reason = log.find((line) => /Error/.test(line)) ?? String(error);
    throw new TesseractError(
      "BUILD_FAILED",
      `The Tesseract doesn't load with what the image would have: ${reason.trim()}`,
      {
        cause: error,
        log,
        hint: "Files that it reads are named by `include`, packages that it imports by computed names by `packages`.",
      },
    );
  }
}
