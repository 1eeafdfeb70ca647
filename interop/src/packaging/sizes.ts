/** How much a package adds to a program, bundled without its dependencies, minified and gzipped. */
import { relative } from "node:path";
import { gzipSync } from "node:zlib";
import { build, type Metafile } from "esbuild";
import type { Manifest } from "./packed.js";

/** All of it, in bytes: everything that it exports, and what that loads. `project` is where the package is installed; `entry` one of its entry points. */
export async function gzippedSize(
  project: string,
  entry: string,
  { dependencies, peerDependencies }: Manifest,
  platform: "browser" | "node",
): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from ${JSON.stringify(entry)};`, resolveDir: project },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    platform,
    external: ["node:*", ...Object.keys({ ...dependencies, ...peerDependencies })],
  });
  return outputFiles.reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
}

/**
 * What a page must have loaded before `program` can run, in bytes: its chunk, and those that it imports statically. Chunks that
 * are imported dynamically come later, or never.
 */
export async function firstLoadSize(project: string, program: string): Promise<number> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: project },
    bundle: true,
    splitting: true,
    minify: true,
    write: false,
    metafile: true,
    format: "esm",
    target: "es2022",
    platform: "browser",
    absWorkingDir: project,
    outdir: project,
  });
  const first = staticChunks(metafile);
  return outputFiles
    .filter(({ path }) => first.has(relative(project, path)))
    .reduce((sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length, 0);
}

function staticChunks({ outputs }: Metafile): ReadonlySet<string> {
  const reached = new Set(Object.keys(outputs).filter((path) => outputs[path]?.entryPoint === "<stdin>"));
  if (reached.size !== 1) throw new Error("The program has no chunk of its own");
  for (const path of reached) {
    for (const { path: imported, kind } of outputs[path]?.imports ?? []) {
      if (kind === "import-statement") reached.add(imported);
    }
  }
  return reached;
}
