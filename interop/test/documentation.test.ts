// The programs of the documentation: they compile for users with plain strict settings, and they run.

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { repositoryRoot } from "../src/python.js";
import { type Runtime, startRuntime } from "../src/runtime.js";
import { describeWithRuntime, START_TIMEOUT } from "../src/with-runtime.js";

const pages = [
  "README.md",
  "packages/core/README.md",
  "packages/jax-bridge/README.md",
  "packages/transport-host/README.md",
];
const heat = join(repositoryRoot, "examples/heat/tesseract_api.py");

interface Program {
  readonly name: string;
  readonly source: string;
}

async function programsOf(page: string): Promise<Program[]> {
  const text = await readFile(join(repositoryRoot, page), "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match, index) => ({
    name: `${page}, program ${index + 1}`,
    source: match[1] ?? "",
  }));
}

const programs = (await Promise.all(pages.map(programsOf))).flat();

// Within the repository, so that the packages are found as a user's programs find them: what is built.
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(repositoryRoot, "interop/.documentation-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("the pages have programs", () => {
  expect(programs.length).toBeGreaterThanOrEqual(8);
});

test("the programs compile with nothing but `strict`", async () => {
  const files = programs.map((_, index) => join(folder, `program${index}.ts`));
  await Promise.all(files.map((file, index) => writeFile(file, `${programs[index]?.source}\nexport {};\n`)));
  const program = ts.createProgram(files, {
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts"],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ["node"],
    typeRoots: [join(repositoryRoot, "node_modules/@types")],
  });
  // jax-js's own declarations need the DOM's and WebGPU's, with which users of it are familiar.
  const ours = ({ file }: ts.Diagnostic): boolean => file?.fileName.includes("node_modules/@jax-js/") !== true;
  const problems = ts
    .getPreEmitDiagnostics(program)
    .filter(ours)
    .map((diagnostic) => {
      const place = diagnostic.file?.fileName.replace(folder, "") ?? "";
      return `${place}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n")}`;
    });
  expect(problems).toEqual([]);
});

describeWithRuntime("1.15", "the programs run", () => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await startRuntime({ fixture: heat });
  }, START_TIMEOUT);
  afterAll(() => runtime?.stop());

  describe.each(programs)("$name", ({ name, source }) => {
    test("as printed, but for the address and the directories", async () => {
      const adapted = source
        .replaceAll("http://localhost:8000", runtime.url)
        .replaceAll("/shared/in", runtime.inputPath)
        .replaceAll("/shared/out", runtime.outputPath);
      const { code } = await transform(adapted, { loader: "ts", format: "esm", target: "node20" });
      const file = join(folder, `${name.replaceAll(/\W+/g, "-")}.mjs`);
      await writeFile(file, code);
      const { stderr } = await promisify(execFile)(process.execPath, [file], { timeout: 30_000 });
      // The page on errors shows one on purpose.
      if (source.includes("console.error")) expect(stderr).toContain("array_non_numeric");
      else expect(stderr).toBe("");
    });
  });
});
