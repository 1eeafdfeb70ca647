/**
 * The processes' programs, and the test files whose bodies run in them, as plain JavaScript: they start in a tenth of the time
 * that a compiler at run time would take, and on Nodes that the compiler isn't installed for.
 */
import { rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const testFolder = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(testFolder);
const folder = join(root, "build-tests");

/** The bundle of a file below `test`. */
export const bundleOf = (file: string): string => join(folder, relative(testFolder, file).replace(/\.ts$/, ".js"));

/** Vitest's global set-up. */
export default async function bundleTests(): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await build({
    absWorkingDir: root,
    entryPoints: [
      "test/support/child.ts",
      "test/driver/*.test.ts",
      "test/device-array.test.ts",
      "test/transport/peer.ts",
      "test/conformance/side.ts",
    ],
    outbase: "test",
    outdir: folder,
    bundle: true,
    splitting: true, // one instance of what the files share
    format: "esm",
    platform: "node",
    target: "node20",
    conditions: ["source", "node"],
    external: ["vitest", "esbuild", "node-gyp-build", "fast-check", "undici"],
    sourcemap: true,
    logLevel: "warning",
  });
}
