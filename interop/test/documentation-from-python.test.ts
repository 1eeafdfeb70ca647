// "Coming from Python": what stands on the left is in the installed reference. That what stands on the right compiles is tested with
// the programs of all pages, in documentation.test.ts.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { calls, isMember, members, pairs } from "../src/documentation/python-rows.js";
import { findPython, repositoryRoot } from "../src/python.js";
import { describeWithRuntime } from "../src/with-runtime.js";

test("the tables are found", () => {
  expect(calls.length).toBeGreaterThan(60);
  expect(members.length).toBeGreaterThanOrEqual(7);
});

/** Milliseconds for what imports the reference, on a machine that is busy with other things. */
const LOADED = 300_000;

/** @returns what doesn't fit */
async function checkPython(
  python: string,
  expressions: readonly string[],
  modules: readonly string[],
  aliases: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const script = fileURLToPath(new URL("../src/documentation/check_python.py", import.meta.url));
  const child = spawn(python, [script], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ expressions, modules, aliases }));
  let output = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) output += chunk;
  return JSON.parse(output);
}

const left = (...titles: readonly string[]): readonly string[] =>
  titles
    .flatMap(pairs)
    .filter((row) => !isMember(row))
    .flatMap(({ python }) => python);

describeWithRuntime("1.15", "what stands on the left is in the reference", () => {
  test("its client, its runtime, NumPy", { timeout: LOADED }, async () => {
    const modules = [
      "tesseract_core",
      "tesseract_core.runtime",
      "tesseract_core.runtime.experimental",
      "pydantic.fields",
    ];
    const expressions = left("Getting", "Calling", "Arrays", "Writing");
    expect(expressions.length).toBeGreaterThan(45);
    expect(await checkPython(findPython(), expressions, modules, { numpy: "np" })).toEqual([]);
  });

  test("a wrong name or argument would be found", { timeout: LOADED }, async () => {
    const wrong = ["Tesseract.from_uri(url)", "tess.apply(inputs, run=1)", "Array3"];
    expect(await checkPython(findPython(), wrong, ["tesseract_core"])).toHaveLength(3);
  });

  test("endpoints that a tesseract_api.py defines are those that the runtime looks for", async () => {
    const routes = members.flatMap(({ python }) => python.join().match(/^def (\w+)/)?.[1] ?? []);
    expect(routes).toHaveLength(5);
    const paths = ["jacobian", "jacobian_vector_product", "vector_jacobian_product", "abstract_eval", "apply"];
    expect([...routes].sort()).toEqual(paths.sort());
  });

  test("the commands of tesseract", { timeout: LOADED }, async () => {
    const program = `
import json, typer.main
from tesseract_core.sdk.cli import app
print(json.dumps(sorted(typer.main.get_command(app).commands)))`;
    const child = spawn(findPython(), ["-c", program], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    for await (const chunk of child.stdout.setEncoding("utf8")) output += chunk;
    const commands: readonly string[] = JSON.parse(output.trim().split("\n").at(-1) ?? "[]");
    const named = pairs("From a terminal").flatMap(({ python }) =>
      python.flatMap((code) => /^tesseract (\w+)/.exec(code)?.[1] ?? []),
    );
    expect(named.length).toBeGreaterThan(6);
    expect(named.filter((name) => !commands.includes(name))).toEqual([]);
  });
});

test("the commands of tesseract-ts are there", () => {
  const named = pairs("From a terminal").flatMap(({ typescript }) =>
    typescript.flatMap((code) => /^tesseract-ts (\w+)/.exec(code)?.[1] ?? []),
  );
  expect(named.length).toBeGreaterThan(5);
  for (const name of named) {
    expect(existsSync(join(repositoryRoot, `packages/serve/src/cli/commands/${name}.ts`)), name).toBe(true);
  }
});

test("what stands on the left of tesseract-jax is in it", { timeout: LOADED }, async (context) => {
  const python = join(repositoryRoot, ".venv-jax/bin/python");
  if (!existsSync(python))
    context.skip("No tesseract-jax in .venv-jax: `node scripts/setup.mjs` makes it where Python can have it");
  const modules = ["tesseract_jax", "jax"];
  expect(await checkPython(python, left("tesseract-jax"), modules)).toEqual([]);
});
