import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { node, SLOWDOWN } from "./support/other-node.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const readme = readFileSync(join(root, "README.md"), "utf8");
/** Those that need no server; the others are run with one. */
const programs = [...readme.matchAll(/```ts\n(.*?)```/gs)]
  .map(([, program = ""]) => program)
  .filter((program) => !program.includes("localhost"));

/** What the programs of the README print, in their order. */
const printed = ["Float32Array(2) [ 3, 4 ]\n", "64\n"];

test("the README's programs do what it says", { timeout: 60_000 * SLOWDOWN }, async () => {
  const folder = mkdtempSync(join(root, "build-tests", "readme-"));
  await using cuda = await simulatedCuda({ memory: "64MiB" });
  try {
    const outputs: string[] = [];
    for (const [index, contents] of programs.entries()) {
      const outfile = join(folder, `${index}.js`);
      await build({
        stdin: { contents, loader: "ts", resolveDir: root },
        outfile,
        bundle: true,
        format: "esm",
        platform: "node",
        target: "node20",
        conditions: ["source", "node"],
        external: ["node-gyp-build", "undici"],
      });
      const { stdout, stderr } = await cuda.run(node, [outfile]);
      outputs.push(stdout + stderr);
    }
    expect(outputs).toEqual(printed);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
