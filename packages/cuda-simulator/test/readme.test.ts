// The README's programs, as printed.

import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { transform } from "esbuild";
import { expect, test } from "vitest";
import type { ErrorCode } from "../src/errors.js";
import { VARIABLES } from "../src/settings/settings.js";
import { builtCommand, describeWithBoth, root, temporaryFolder } from "./support.js";

const readme = readFileSync(join(root, "README.md"), "utf8");
const programs = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\``, "gms"))].map((match) => match[1] ?? "");

// As in a project that has the package installed.
const project = temporaryFolder();
mkdirSync(join(project, "node_modules/@tesseract-ts"), { recursive: true });
mkdirSync(join(project, "node_modules/.bin"));
symlinkSync(root, join(project, "node_modules/@tesseract-ts/cuda-simulator"));
const bin = join(project, "node_modules/.bin/cuda-simulator");
writeFileSync(bin, `#!/bin/sh\nexec '${process.execPath}' '${builtCommand}' "$@"\n`, { mode: 0o755 });

describeWithBoth("the README's", () => {
  test("first line with Python prints what it says", async () => {
    const [first = ""] = programs("sh");
    const line = first.slice(first.indexOf("npx cuda-simulator run")); // the build takes a minute, and was done before
    const { stdout, stderr } = await promisify(execFile)("sh", ["-ec", line], { cwd: project });
    expect(readme).toContain(`prints \`${stdout.trim()}\``);
    expect(stderr).toBe("");
  });

  test("program in TypeScript prints what it says", async () => {
    const [source = ""] = programs("ts");
    const { code } = await transform(source, { loader: "ts", format: "esm", target: "node20" });
    writeFileSync(join(project, "program.mjs"), code);
    const { stdout, stderr } = await promisify(execFile)(process.execPath, ["program.mjs"], { cwd: project });
    const said = [...source.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)].map((match) => match[1]);
    expect(said.length).toBeGreaterThan(0);
    expect(stdout.trim().split("\n")).toEqual(said);
    expect(stderr).toBe("");
  });
});

test("the README has every function that the libraries have", () => {
  const functions = readFileSync(join(root, "native/test/functions.inc"), "utf8");
  const driver = [...functions.matchAll(/^RULES_FUNCTION\((\w+?)(?:_v\d)?\)/gm)].map((match) => match[1] ?? "");
  const folder = join(root, "native/src/runtime");
  const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
  const runtime = sources.flatMap((source) =>
    [...source.matchAll(/^CUDA_SIMULATOR_EXPORT .*?(cuda\w+)\(/gm)].map((match) => match[1] ?? ""),
  );
  expect(driver.length).toBeGreaterThan(100);
  expect(runtime.length).toBeGreaterThanOrEqual(50);
  const section = readme.split("## Functions")[1]?.split("## Errors")[0] ?? "";
  expect([...driver, ...runtime].filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});

test("the README names every error code and every environment variable", () => {
  const source = readFileSync(join(root, "src/errors.ts"), "utf8");
  const codes = [...source.matchAll(/^ {2}\| "([A-Z_]+)"/gm)].map((match) => match[1] as ErrorCode);
  expect(codes.length).toBeGreaterThan(10);
  const section = readme.split("## Errors")[1] ?? "";
  expect(codes.filter((code) => !section.includes(`\`${code}\``))).toEqual([]);
  const config = readFileSync(join(root, "native/src/config.cpp"), "utf8");
  const read = [...config.matchAll(/"(CUDA_[A-Z_]+)"/g)].map((match) => match[1] ?? "");
  expect([...read, ...Object.values(VARIABLES)].filter((name) => !readme.includes(`\`${name}\``))).toEqual([]);
});
