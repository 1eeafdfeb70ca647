// The programs of the documentation: they compile for users with plain strict settings, and they run, and print what they say.

import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, expect, test } from "vitest";
import { allPages, type Blocks, blocksOf, type Program } from "../src/documentation/pages.js";
import { rowsProgram } from "../src/documentation/python-rows.js";
import { expectedOf, isAsSaid, type Running, Workspace } from "../src/documentation/runner.js";
import { findPython, repositoryRoot } from "../src/python.js";
import { type Runtime, startRuntime } from "../src/runtime.js";
import { describeOnSimulator, shared } from "../src/simulated.js";
import { describeWithRuntime, START_TIMEOUT } from "../src/with-runtime.js";

/** Pages whose programs another test runs, since they need more than a served heat equation. */
const elsewhere: Readonly<Record<string, string>> = {
  "docs/write-a-transport.md": "packages/testkit/test/tutorial.test.ts",
  "interop/README.md": "interop/test/runtime.test.ts",
  "packages/cuda-simulator/README.md": "packages/cuda-simulator/test/readme.test.ts",
  "packages/inprocess/README.md": "packages/inprocess/test/readme.test.ts",
  "packages/serve/README.md": "packages/serve/test/readme.test.ts",
  "packages/transport-cuda-ipc/README.md": "packages/transport-cuda-ipc/test/readme.test.ts",
};

/** Milliseconds for what takes seconds on a machine that does nothing else. */
const LOADED = 300_000;

const pages = (await allPages()).filter((page) => !(page in elsewhere));
const found = await Promise.all(pages.map(blocksOf));
const blocks: Blocks = {
  programs: found.flatMap(({ programs }) => programs),
  files: found.flatMap(({ files }) => files),
};
const { programs } = blocks;
const runBy = (run: Program["run"]): readonly Program[] => programs.filter((program) => program.run === run);

let workspace: Workspace;
beforeAll(async () => {
  workspace = await Workspace.make();
  await workspace.write(blocks);
});
afterAll(() => workspace?.[Symbol.asyncDispose]());

test("the pages have programs, and those that aren't run say why", () => {
  expect(runBy("node").length).toBeGreaterThanOrEqual(40);
  expect(runBy("gpu").length).toBeGreaterThanOrEqual(5);
  for (const { name, reason } of runBy("never")) expect(reason, name).toMatch(/^needs /);
  for (const [page, file] of Object.entries(elsewhere)) expect(existsSync(join(repositoryRoot, file)), page).toBe(true);
});

test(
  "the programs compile with nothing but `strict`, and so does each row of Coming from Python",
  async () => {
    const rows = join(workspace.folderOf("docs/from-python.md"), "rows.ts");
    await mkdir(dirname(rows), { recursive: true });
    await writeFile(rows, rowsProgram());
    const files = [...programs.map((program) => workspace.sourceOf(program)), rows];
    const program = ts.createProgram(files, {
      strict: true,
      noEmit: true,
      target: ts.ScriptTarget.ES2022,
      // jax-js's own declarations need the DOM's and WebGPU's, with which users of it are familiar.
      lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts"],
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      types: ["node"],
      typeRoots: [join(repositoryRoot, "node_modules/@types")],
    });
    // Ours, down to the declarations of the packages. Those of others aren't ours to check.
    const checked = program
      .getSourceFiles()
      .filter(({ fileName }) => files.includes(fileName) || /\/packages\/[\w-]+\/dist\//.test(fileName));
    expect(checked.length).toBeGreaterThan(files.length);
    const problems = checked
      .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
      .map(({ file, start = 0, messageText }) => {
        const at = programs.find((each) => workspace.sourceOf(each) === file?.fileName)?.name ?? file?.fileName;
        const line = file?.getLineAndCharacterOfPosition(start).line ?? 0;
        const text = file?.text.split("\n")[line]?.trim() ?? "";
        return `${at}, line ${line + 1}: ${text}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
      });
    expect(problems).toEqual([]);
  },
  LOADED,
);

async function runsAsPrinted(program: Program, running: Running): Promise<void> {
  const { printed, complaints, failure } = await running.outcome(program);
  expect(failure).toBeUndefined();
  // What says `console.error` shows an error on purpose.
  if (!program.source.includes("console.error")) expect(complaints).toEqual([]);
  const said = expectedOf(program);
  if (said.length === 0) return;
  expect(printed.length).toBe(said.length);
  for (const [at, line] of printed.entries()) {
    expect(isAsSaid(line, said[at] ?? ""), `It printed ${line}, and the page says ${said[at]}`).toBe(true);
  }
}

describeWithRuntime("1.15", "the programs run", () => {
  let runtime: Runtime;
  let running: Running;
  beforeAll(async () => {
    runtime = await startRuntime({ fixture: join(repositoryRoot, "examples/heat/tesseract_api.py") });
    running = await workspace.run(runBy("node"), (source) =>
      source
        .replaceAll("http://localhost:8000", runtime.url)
        .replaceAll("/shared/in", runtime.inputPath)
        .replaceAll("/shared/out", runtime.outputPath)
        .replaceAll(".venv/bin/python", findPython()),
    );
  }, START_TIMEOUT);
  afterAll(async () => {
    running?.stop();
    await runtime?.stop();
  });

  test.each(runBy("node"))("$name", (program) => runsAsPrinted(program, running), LOADED);

  test("the one that shows an error of the server's shows it", async () => {
    const program = runBy("node").find(({ page, source }) => page === "README.md" && source.includes("console.error"));
    if (program === undefined) throw new Error("The README shows no error");
    expect((await running.outcome(program)).complaints.join()).toContain("array_non_numeric");
  });
});

describeOnSimulator("the programs for GPUs run on the simulator", () => {
  const machine = shared({}, async ({ cuda, serve }) => ({ cuda, server: await serve("rotate") }));
  let running: Running;
  beforeAll(async () => {
    const { cuda, server } = machine();
    const adapt = (source: string): string => source.replaceAll("http://localhost:8000", server.url);
    running = await workspace.run(runBy("gpu"), adapt, { ...process.env, ...cuda.env });
  });
  afterAll(() => running?.stop());

  test.each(runBy("gpu"))("$name", (program) => runsAsPrinted(program, running), LOADED);
});
