/** `tesseract-ts test`: runs regression cases, in the reference's JSON form. */
import { readdir, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { type Tesseract, TesseractError, type TestSpec } from "@tesseract-ts/core";
import { command } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { isTree, readJsonFile, type Tree } from "../request.js";
import { kindOf, openTarget, targetOptions } from "../target.js";
import { counted } from "../terminal/amounts.js";
import { printable, styleFor } from "../terminal/style.js";
import type { Terminal } from "../terminal/terminal.js";

/** Where cases are looked for. */
const USUAL_FOLDERS = ["cases", "test_cases"];
/** Lines of a difference that are shown. */
const MOST_LINES = 12;

interface CaseResult {
  readonly file: string;
  readonly endpoint: string;
  readonly status: "passed" | "failed" | "error";
  readonly message: string;
}

export const test = command({
  name: "test",
  summary: "Run regression cases: calls, and what is expected of them.",
  arguments: [
    {
      name: "TARGET",
      help: "a file (.ts, .mts, .js, .mjs, .py), a container image, or the URL of a Tesseract in debug mode",
    },
  ],
  options: {
    cases: {
      kind: "list",
      value: "DIR",
      help: `a folder of .json files, or one of them (${USUAL_FOLDERS.join(" or ")} beside the file)`,
    },
    only: { kind: "text", value: "TEXT", help: "cases whose file's name has this" },
    ...targetOptions,
  },
  about: [
    'A case is what `tesseract-runtime test` takes: {"endpoint": "apply", "payload": {"inputs": …}, "expected_outputs": …}, or with "expected_exception" and "expected_exception_regex" instead of the outputs; "atol" and "rtol" say how far values may be off. dtypes must be equal, so write arrays encoded rather than as lists of whole numbers. `tesseract-ts call … --record FILE` writes such a file.',
  ],
  examples: [
    { command: "tesseract-ts test tesseract.ts", what: "all cases of the folder `cases`" },
    {
      command: "tesseract-ts test tesseract_api.py --cases test_cases --only apply",
      what: "some cases, of a Tesseract in Python",
    },
  ],
  async run({ options, given: [target = ""], terminal, progress, json }) {
    const { name, kind } = kindOf(target, terminal.directory);
    const folder = kind === "file" ? dirname(name) : terminal.directory;
    const { files, root } = await casesOf(options.cases, folder, terminal, options.only);
    const specs = await Promise.all(
      files.map(async (file) => ({ file, spec: (await readJsonFile(file, terminal)).value })),
    );
    const started = { runtimeConfig: { debug: true }, inputPath: root };
    await using opened = await openTarget(target, options, { terminal, progress, ...(kind === "url" ? {} : started) });
    requireTest(opened.tesseract);
    const results: CaseResult[] = [];
    for (const [index, { file, spec }] of specs.entries()) {
      const shown = relative(terminal.directory, file) || file;
      progress.count(`${index + 1} of ${counted(specs.length, "case")}: ${shown}`);
      const result = await outcomeOf(opened.tesseract, shown, spec);
      results.push(result);
      if (!json) terminal.out.write(`${linesOf(result, terminal).join("\n")}\n`);
    }
    progress.end();
    const failed = results.filter(({ status }) => status !== "passed").length;
    if (json) terminal.out.write(`${JSON.stringify({ passed: results.length - failed, failed, cases: results })}\n`);
    else terminal.out.write(`\n${results.length - failed} passed, ${failed} failed\n`);
    return failed === 0 ? EXIT.ok : EXIT.failed;
  },
});

async function casesOf(
  given: readonly string[],
  beside: string,
  { directory }: Terminal,
  only: string | undefined,
): Promise<{ readonly files: readonly string[]; readonly root: string }> {
  const paths =
    given.length > 0 ? given.map((path) => resolve(directory, path)) : USUAL_FOLDERS.map((name) => join(beside, name));
  const files: string[] = [];
  let root: string | undefined;
  for (const path of paths) {
    const found = await stat(path).catch(() => undefined);
    if (found === undefined && given.length > 0)
      throw new UsageError(`There are no cases at ${path}: there is no such file or folder`);
    if (found === undefined) continue;
    root ??= found.isDirectory() ? path : dirname(path);
    files.push(...(found.isDirectory() ? await jsonFilesIn(path) : [path]));
  }
  const chosen = files.filter((file) => only === undefined || file.includes(only)).sort();
  if (chosen.length > 0 && root !== undefined) return { files: chosen, root };
  const places = paths.map((path) => relative(directory, path) || ".").join(" or ");
  throw new UsageError(
    only === undefined ? `There are no cases in ${places}` : `No case in ${places} has "${only}" in its name`,
    "A case is a .json file; `tesseract-ts call … --record cases/one.json` writes one, --cases names another folder.",
  );
}

async function jsonFilesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

function requireTest(tesseract: Tesseract): void {
  if (tesseract.availableEndpoints.includes("test")) return;
  throw new TesseractError(
    "ENDPOINT_NOT_FOUND",
    "This Tesseract runs no regression cases: it isn't served in debug mode",
    {
      hint: "Serve it with --debug-mode (in Python with TESSERACT_DEBUG=1), or give its file or image instead of its URL.",
    },
  );
}

async function outcomeOf(tesseract: Tesseract, file: string, spec: Tree): Promise<CaseResult> {
  const endpoint = String(spec.endpoint);
  const problem = malformed(tesseract, spec);
  if (problem !== undefined) return { file, endpoint, status: "error", message: problem };
  try {
    // The reference's names of the other members stay as they are.
    await tesseract.test({ ...spec, endpoint: camelCase(endpoint) } as unknown as TestSpec);
    return { file, endpoint, status: "passed", message: "" };
  } catch (error) {
    if (!(error instanceof TesseractError)) throw error;
    const { code, message, issues } = error;
    if (code === "REGRESSION_FAILED") return { file, endpoint, status: "failed", message };
    if (code === "REGRESSION_ERROR") return { file, endpoint, status: "error", message };
    if (code !== "VALIDATION_FAILED" && code !== "SERVER_ERROR") throw error;
    const places = issues.map(
      ({ path, message: reason }) => `${path.filter((part) => part !== "body").join(".")}: ${reason}`,
    );
    return { file, endpoint, status: "error", message: places.length === 0 ? message : places.join("\n") };
  }
}

const camelCase = (name: string): string => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

function malformed(tesseract: Tesseract, { endpoint, payload }: Tree): string | undefined {
  if (typeof endpoint !== "string") return 'it has no "endpoint"';
  if (!isTree(payload)) return 'it has no "payload"';
  const there: readonly string[] = tesseract.availableEndpoints.filter((each) => each !== "test" && each !== "health");
  if (there.includes(camelCase(endpoint))) return undefined;
  return `there is no endpoint "${endpoint}"; there are ${there.join(", ")}`;
}

function linesOf({ file, endpoint, status, message }: CaseResult, terminal: Terminal): readonly string[] {
  const style = styleFor(terminal.out, terminal);
  const head = `${style(status === "passed" ? "green" : "red", status)}  ${printable(file)} (${printable(endpoint)})`;
  if (message === "") return [head];
  const lines = message.split("\n").filter((line) => line.trim() !== "");
  const shown = lines.slice(0, MOST_LINES).map((line) => `        ${printable(line)}`);
  return [
    head,
    ...shown,
    ...(lines.length > MOST_LINES ? [`        … and ${lines.length - MOST_LINES} more lines`] : []),
  ];
}
