/** How much a package adds to a program: everything that it exports, bundled without its dependencies, minified and gzipped. */
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import type { Manifest } from "./packed.js";

/** Bytes. `project` is where the package is installed; `entry` one of its entry points. */
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
