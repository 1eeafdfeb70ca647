// What pages tell to type is there: npm's scripts, the commands of this project's programs and their options, packages to install;
// and so are the environment variables and the options of functions that they name.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseCommandLine } from "../../packages/cuda-simulator/src/cli/command-line.js";
import { commonOptions } from "../../packages/serve/src/cli/command.js";
import { commands } from "../../packages/serve/src/cli/program.js";
import { commandsOf, type NamedCommand, optionsOf } from "../src/documentation/commands.js";
import { allPages, codeOf, readPage, rowsOf } from "../src/documentation/pages.js";
import { repositoryRoot } from "../src/python.js";

const pages = await allPages();
const named = (await Promise.all(pages.map(commandsOf))).flat();

interface Manifest {
  readonly scripts?: Readonly<Record<string, string>>;
}

const at = (path: string): string => join(repositoryRoot, path);
const manifestAt = (folder: string): Manifest => JSON.parse(readFileSync(at(`${folder}/package.json`), "utf8"));
/** What is written in a folder, but for tests. */
const sourcesIn = (folder: string): string =>
  readdirSync(at(folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.(ts|mjs|cc|cpp|h|sh|py)$/.test(path) && !/(^|\/)(node_modules|dist|build|test)\//.test(path))
    .map((path) => readFileSync(at(`${folder}/${path}`), "utf8"))
    .join("\n");
const workspaces = ["packages", "examples"].flatMap((folder) =>
  readdirSync(at(folder))
    .map((name) => `${folder}/${name}`)
    .filter((name) => existsSync(at(`${name}/package.json`))),
);

/** @returns what is wrong with it */
function wrongOf({ words }: NamedCommand): string | undefined {
  const [program, command = "", ...rest] = words;
  if (program === "npm") return wrongOfNpm(command, rest);
  if (program === "tesseract-ts") return wrongOfOurs(command, rest);
  if (program === "cuda-simulator") return wrongOfSimulator([command, ...rest]);
  const project = words[words.indexOf("--project") + 1];
  if (command === "vitest")
    return words.includes("--project") && !["unit", "interop"].includes(project ?? "") ? "no such project" : undefined;
  return existsSync(at(`node_modules/.bin/${command}`)) ? undefined : `no program ${command}`;
}

/** Its own, that scripts have nothing to do with. */
const ofNpm: ReadonlySet<string> = new Set(["ci", "config", "install-scripts", "pack", "publish", "rebuild"]);

function wrongOfNpm(command: string, rest: readonly string[]): string | undefined {
  if (command === "install" || command === "i") {
    const missing = rest.filter((word) => !word.startsWith("-") && !existsSync(at(`node_modules/${word}`)));
    return missing.length === 0 ? undefined : `no package ${missing.join(", ")}`;
  }
  if (ofNpm.has(command)) return undefined;
  if (!["run", "start", "test"].includes(command)) return `npm has no ${command}`;
  const name = command === "run" ? (rest[0] ?? "") : command;
  const workspace = rest.includes("-w") ? rest[rest.indexOf("-w") + 1] : undefined;
  // Where none is named, the root's script is meant, or that of the package that the sentence is about.
  const folder = (workspace === undefined ? [".", ...workspaces] : [workspace]).find(
    (each) => existsSync(at(`${each}/package.json`)) && manifestAt(each).scripts?.[name] !== undefined,
  );
  if (folder === undefined) return `no script ${name}`;
  const script = manifestAt(folder).scripts?.[name] ?? "";
  const file = /\S+\.(?:mjs|ts)\b/.exec(script)?.[0];
  const options = rest.includes("--") ? optionsOf(rest.slice(rest.indexOf("--") + 1)) : [];
  if (options.length === 0) return undefined;
  if (file === undefined) return `options of ${script}, which is no program of ours`;
  const source = sourcesIn(folder === "." ? (file.split("/")[0] ?? "") : folder);
  const unknown = options.filter(
    (option) => !new RegExp(`--${option}\\b|["'.\\s{]${option}\\b["'?:\\s,)]`).test(source),
  );
  return unknown.length === 0 ? undefined : `no option ${unknown.join(", ")} in ${folder}/${file}`;
}

function wrongOfOurs(name: string, rest: readonly string[]): string | undefined {
  if (name.startsWith("-") || name === "COMMAND") return undefined;
  const command = commands.find((each) => each.name === name);
  if (command === undefined) return `no command ${name}`;
  const known = { ...commonOptions, ...command.options };
  const unknown = optionsOf(rest).filter((option) => !(option in known));
  return unknown.length === 0 ? undefined : `${name} has no option ${unknown.join(", ")}`;
}

function wrongOfSimulator(args: readonly string[]): string | undefined {
  const end = args.indexOf("--");
  try {
    parseCommandLine(end === -1 ? args : [...args.slice(0, end), "--", "program"]);
    return undefined;
  } catch (error) {
    return String(error);
  }
}

test("the commands are found, with each of the programs", () => {
  expect(named.length).toBeGreaterThan(70);
  const programs = new Set(named.map(({ words: [program] }) => program));
  expect([...programs].sort()).toEqual(["cuda-simulator", "npm", "npx", "tesseract-ts"]);
});

test("they are there, with their options", () => {
  const wrong = named.flatMap((command) => {
    const what = wrongOf(command);
    return what === undefined ? [] : [`${command.place}: ${command.words.join(" ")}: ${what}`];
  });
  expect(wrong).toEqual([]);
});

test.each([
  ["npm run nothing"],
  ["npm strat"],
  ["npm start -w examples/nowhere"],
  ["npm run bench -- --sideways"],
  ["npm install @tesseract-ts/nothing"],
  ["tesseract-ts aply"],
  ["tesseract-ts build FILE --sideways"],
  ["cuda-simulator run --sideways -- program"],
  ["npx vitest --project nothing"],
])("a wrong one would be found: %s", (line) => {
  expect(wrongOf({ place: "", words: line.split(" ") })).toBeTypeOf("string");
});

test("so are the environment variables", async () => {
  const sources = ["packages", "gpu", "scripts", "examples", "interop/containers"].map(sourcesIn).join("\n");
  const pattern = /\b(?:TESSERACT|CUDA_SIMULATOR)_[A-Z][A-Z_]*[A-Z]\b/g;
  const known = new Set(sources.match(pattern));
  const missing: string[] = [];
  let count = 0;
  for (const page of pages) {
    for (const name of new Set((await readPage(page)).match(pattern))) {
      count += 1;
      if (!known.has(name)) missing.push(`${page}: ${name}`);
    }
  }
  expect(count).toBeGreaterThan(25);
  expect(missing).toEqual([]);
});

describe("so are the options in tables", () => {
  /** The packages whose functions take them. */
  const tables: Readonly<Record<string, readonly string[]>> = {
    "docs/call.md": ["core"],
    "docs/start.md": ["serve", "core"],
    "packages/cuda-simulator/README.md": ["cuda-simulator"],
    "packages/serve/README.md": ["serve", "core"],
    "packages/testkit/README.md": ["testkit"],
  };

  test.each(Object.entries(tables))("%s", async (page, packages) => {
    const sources = packages.map((name) => sourcesIn(`packages/${name}/src`)).join("\n");
    const text = await readPage(page);
    const options = text
      .split(/\n\n+/)
      .filter((block) => /^\| option\b/.test(block))
      .flatMap((block) => rowsOf(block).flatMap(([cell = ""]) => (cell.startsWith("`") ? codeOf(cell) : [])))
      .map((option) => option.replace(/\(.*$/, ""));
    expect(options.length).toBeGreaterThan(5);
    expect(options.filter((option) => !new RegExp(`^\\s+(?:readonly )?${option}\\??[:(]`, "m").test(sources))).toEqual(
      [],
    );
  });
});
