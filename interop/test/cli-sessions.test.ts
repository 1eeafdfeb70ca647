// The sessions of docs/command-line.md, from an empty folder to a Tesseract that is checked, tested, served and called: each
// command is run by a shell, and prints what the page says. With RECORD_SESSIONS=1 the page is written anew instead.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cli } from "../../packages/serve/test/cli/support.js";
import { masked, type Step, sessionsOf, withOutputs } from "../src/console.js";
import { environmentWithoutTesseract, repositoryRoot } from "../src/python.js";

const PAGE = join(repositoryRoot, "docs/command-line.md");
const HOME = "/home/you";

let folder: string;
let directory: string;
let server:
  | { readonly process: ChildProcess; readonly output: string; readonly url: string; shown: number }
  | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-sessions-"));
  directory = folder;
  // What npm would have installed is what this repository has.
  await mkdir(join(folder, "bin"));
  const cli = join(repositoryRoot, "packages/serve/dist/cli.js");
  const bin = join(repositoryRoot, "node_modules/.bin");
  await writeFile(
    join(folder, "bin/npx"),
    `#!/bin/sh\nname=$1; shift\nif [ "$name" = tesseract-ts ]; then exec "${process.execPath}" "${cli}" "$@"; fi\nexec "${process.execPath}" "$(readlink -f "${bin}/$name")" "$@"\n`,
  );
  await chmod(join(folder, "bin/npx"), 0o755);
});
afterAll(async () => {
  server?.process.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
});

const environment = (): NodeJS.ProcessEnv => ({
  ...environmentWithoutTesseract(),
  PATH: `${join(folder, "bin")}:${process.env.PATH}`,
  NO_COLOR: "1",
  TMPDIR: folder,
});

const atServer = (text: string): string =>
  server === undefined ? text : text.replaceAll("http://localhost:8000", server.url);
const asOnPage = (text: string): string => {
  const there = server === undefined ? text : text.replaceAll(server.url, "http://127.0.0.1:8000");
  return there.replaceAll(folder, HOME).trimEnd();
};

/** Both outputs into one file, as a terminal has them. */
function start(command: string, output: string): ChildProcess {
  const file = openSync(output, "w");
  try {
    return spawn("sh", ["-c", command], { cwd: directory, env: environment(), stdio: ["ignore", file, file] });
  } finally {
    closeSync(file);
  }
}

async function run(step: Step): Promise<string> {
  const { command } = step;
  const output = join(folder, "output.txt");
  if (command.startsWith("cd ")) {
    directory = join(directory, command.slice(3));
    await symlink(join(repositoryRoot, "node_modules"), join(directory, "node_modules"));
    return "";
  }
  // What a page of help says doesn't depend on the process that it is said in.
  const help = /^npx tesseract-ts (.*--help)$/.exec(command)?.[1];
  if (help !== undefined) return (await cli(help.split(" "))).out.trimEnd();
  if (command.endsWith(" &")) return serve(command.slice(0, -2));
  if (command === "kill -INT %1") return interrupt();
  const child = start(atServer(command), output);
  const [code] = await once(child, "exit");
  const printed = asOnPage(await readFile(output, "utf8"));
  return code === 0 ? printed : `${printed}\n[exit code ${code}]`;
}

async function serve(command: string): Promise<string> {
  const output = join(folder, "server.txt");
  const process = start(`exec ${command} --port 0`, output);
  for (;;) {
    const text = await readFile(output, "utf8");
    const url = /at (http:\S+)\n[\s\S]*Ctrl-C stops it\.\n/.exec(text)?.[1];
    if (url !== undefined) {
      server = { process, output, url, shown: text.length };
      return asOnPage(text);
    }
    if (process.exitCode !== null) throw new Error(`It isn't served: ${text}`);
    await sleep(50);
  }
}

async function interrupt(): Promise<string> {
  if (server === undefined) throw new Error("Nothing is being served");
  const { process, output, shown } = server;
  const exited = once(process, "exit");
  process.kill("SIGINT");
  const [code] = await exited;
  expect(code).toBe(130);
  return asOnPage((await readFile(output, "utf8")).slice(shown));
}

/** Processes of this user that name the folder in their command. */
async function processesOfFolder(): Promise<readonly string[]> {
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const commands = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")));
  return commands.filter((command) => command.includes(folder));
}

test("the page's commands print what it says", { timeout: 1_800_000 }, async () => {
  const page = await readFile(PAGE, "utf8");
  const outputs: string[] = [];
  for (const step of sessionsOf(page).flatMap(({ steps }) => steps)) {
    const printed = step.notRun === undefined ? await run(step) : step.printed;
    outputs.push(printed);
    if (process.env.RECORD_SESSIONS === undefined) {
      expect(`$ ${step.command}\n${masked(printed)}`).toBe(`$ ${step.command}\n${masked(step.printed)}`);
    }
  }
  if (process.env.RECORD_SESSIONS !== undefined) await writeFile(PAGE, withOutputs(page, outputs));
});

test("nothing of it is left running, or in the folder for temporary files", { timeout: 120_000 }, async () => {
  // What was started for a command ends with it; a process that has been told to end may take its time.
  while ((await processesOfFolder()).length > 0) await sleep(100);
  expect((await readdir(folder)).filter((name) => /^tesseract-/.test(name))).toEqual([]);
});
