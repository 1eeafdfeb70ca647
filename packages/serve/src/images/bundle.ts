/** Compiles a Tesseract's own modules into one file of JavaScript; packages stay imports. */
import { readFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { dirname, extname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import type { BuildOptions, Loader, Metafile, Plugin } from "esbuild";

/** What Node 20, the oldest that is supported, understands. */
const TARGET = "node20";
const sourceNames = /\.[cm]?[jt]sx?$/;

export interface Bundle {
  /** The files of this machine that were compiled. */
  readonly sources: readonly string[];
  /** The packages that are imported, each with a file that does so. */
  readonly packages: ReadonlyMap<string, string>;
  /** The code, and its source map; the entry's place is that of `entry` relative to `root`, with the suffix `.mjs`. */
  readonly files: readonly { readonly path: string; readonly contents: Uint8Array }[];
  /** The folder of this machine that stands for the image's. */
  readonly root: string;
  /** The entry's path below it. */
  readonly entry: string;
}

/**
 * @param file the module that exports the Tesseract
 * @param rootOf gives the folder that stands for the image's, above all sources
 * @throws TesseractError BUILD_FAILED; `log` has what is wrong, and where
 */
export async function bundle(file: string, rootOf: (sources: readonly string[]) => string): Promise<Bundle> {
  const { build } = await import("esbuild");
  // Where the bundle lies is known when all sources are.
  const common: BuildOptions & { readonly metafile: true; readonly write: false } = {
    entryPoints: [file],
    bundle: true,
    write: false,
    metafile: true,
    format: "esm",
    platform: "node",
    target: TARGET,
    packages: "external",
    sourcemap: "linked",
    sourcesContent: true,
    logLevel: "silent",
    loader: { ".node": "copy" },
    outdir: dirname(file),
    absWorkingDir: dirname(file),
    outExtension: { ".js": ".mjs" },
  };
  const first = await failing(file, () => build(common));
  const sources = sourcesOf(first.metafile, dirname(file));
  const root = rootOf(sources);
  const needsRequire = Object.values(first.metafile.inputs).some(({ imports }) =>
    imports.some(({ kind }) => kind === "require-call" || kind === "require-resolve"),
  );
  const built = await failing(file, () =>
    build({
      ...common,
      plugins: [ownUrls(dirname(file))],
      // Modules of CommonJS call it; ES modules have none.
      ...(needsRequire
        ? {
            banner: {
              js: 'import { createRequire as requireOfThisFile } from "node:module"; const require = requireOfThisFile(import.meta.url);',
            },
          }
        : {}),
    }),
  );
  const outputs = built.outputFiles;
  const entry = outputs.find(({ path }) => path.endsWith(".mjs"));
  if (entry === undefined) throw new TesseractError("BUILD_FAILED", `${file} compiles to nothing`);
  return {
    sources,
    packages: packagesOf(first.metafile, dirname(file)),
    files: outputs.map(({ path, contents }) => ({ path: relative(root, path), contents })),
    root,
    entry: relative(root, entry.path),
  };
}

async function failing<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const messages = (error as { readonly errors?: readonly Message[] }).errors ?? [];
    const log = messages.map(
      ({ text, location }) =>
        `${location === null ? "" : `${location.file}:${location.line}:${location.column + 1}: `}${text}`,
    );
    throw new TesseractError("BUILD_FAILED", `${file} doesn't compile: ${log[0] ?? String(error)}`, {
      cause: error,
      log,
    });
  }
}

interface Message {
  readonly text: string;
  readonly location: { readonly file: string; readonly line: number; readonly column: number } | null;
}

const sourcesOf = ({ inputs }: Metafile, folder: string): readonly string[] =>
  Object.keys(inputs)
    .filter((name) => !name.startsWith("<") && !name.includes(":\0"))
    .map((name) => resolve(folder, name));

function packagesOf({ inputs }: Metafile, folder: string): ReadonlyMap<string, string> {
  const packages = new Map<string, string>();
  for (const [name, { imports }] of Object.entries(inputs)) {
    for (const { path, external } of imports) {
      if (external !== true || path.startsWith("node:") || builtinModules.includes(path)) continue;
      const found = packageName(path);
      if (found !== undefined && !packages.has(found)) packages.set(found, resolve(folder, name));
    }
  }
  return packages;
}

/** `@scope/name` of `@scope/name/part`; undefined for URLs and paths. */
export const packageName = (specifier: string): string | undefined =>
  /^(@[\w.~-]+\/[\w.~-]+|[\w~-][\w.~-]*)(\/|$)/.exec(specifier)?.[1];

/**
 * Lets each module see the URL that it would have by itself, so that it finds files beside it: in one file, all would see that of
 * the file.
 */
function ownUrls(folder: string): Plugin {
  let count = 0;
  return {
    name: "own-urls",
    setup({ onLoad, esbuild }) {
      onLoad({ filter: sourceNames, namespace: "file" }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        if (!source.includes("import.meta")) return undefined;
        count += 1;
        const url = `urlOfModule${count}`;
        const define = {
          "import.meta.url": url,
          "import.meta.filename": `${url}Path`,
          "import.meta.dirname": `${url}Folder`,
        };
        const loader = (/^\.[cm]?(jsx?|tsx?)$/.exec(extname(path))?.[1] ?? "js") as Loader;
        const { code } = await esbuild.transform(source, {
          loader,
          define,
          target: TARGET,
          sourcemap: "inline",
          sourcefile: path,
        });
        const place = relative(folder, path).split(sep).map(encodeURIComponent).join("/");
        return {
          contents:
            `import { fileURLToPath as pathOf${url} } from "node:url";\n` +
            `const ${url} = new URL(${JSON.stringify(place)}, import.meta.url).href;\n` +
            `const ${url}Path = pathOf${url}(${url});\n` +
            `const ${url}Folder = pathOf${url}(new URL(".", ${url}));\n${code}`,
          loader: "js",
          resolveDir: dirname(path),
        };
      });
    },
  };
}

/** A path of what may be given as a URL. */
export const pathOf = (file: string | URL): string => resolve(file instanceof URL ? fileURLToPath(file) : file);
