/** `tesseract-ts init`: a project to begin with. */
import { spawn } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { TesseractError } from "@tesseract-ts/core";
import { command } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { starterFiles } from "../init/templates.js";
import { styleFor } from "../terminal/style.js";
import type { Terminal } from "../terminal/terminal.js";

export const init = command({
  name: "init",
  summary: "Make a project to begin with: a Tesseract, a client, a test case.",
  arguments: [{ name: "DIR", help: "the project's folder; this one if left out", optional: true }],
  options: {
    name: { kind: "text", value: "NAME", help: "of the Tesseract (the folder's)" },
    install: { kind: "flag", help: "run npm install as well" },
    force: { kind: "flag", help: "into a folder that has files already; files that are there stay as they are" },
  },
  examples: [{ command: "tesseract-ts init my-tesseract --install", what: "ready to be served" }],
  async run({ options, given: [given = "."], terminal, progress, json }) {
    const folder = resolve(terminal.directory, given);
    const name = nameOf(options.name ?? basename(folder), options.name !== undefined);
    const there = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw new UsageError(
        `${folder} can't be a project's folder: ${error.code === "ENOTDIR" ? "it is a file" : error.message}`,
      );
    });
    if (there.some((file) => file !== ".git") && !options.force) {
      throw new UsageError(
        `${folder} isn't empty`,
        "Name another folder, or say --force: files that are there stay as they are.",
      );
    }
    const files = starterFiles({ name });
    const written: string[] = [];
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      if (await wrote(join(folder, path), text)) written.push(path);
    }
    if (options.install) {
      progress.step("npm install");
      await npmInstall(folder, terminal);
      progress.end();
    }
    if (json) terminal.out.write(`${JSON.stringify({ folder, name, written })}\n`);
    else
      terminal.out.write(
        report(folder, written, Object.keys(files).length - written.length, options.install, terminal),
      );
    return EXIT.ok;
  },
});

/** As npm takes names of packages. */
function nameOf(given: string, isAsked: boolean): string {
  const name = given
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|-+$/g, "");
  if (name !== "" && (!isAsked || name === given)) return name;
  throw new UsageError(
    `"${given}" is no name for a package`,
    "Such as --name my-tesseract: small letters, digits and hyphens.",
  );
}

async function wrote(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

async function npmInstall(folder: string, { signal, err, env }: Terminal): Promise<void> {
  const child = spawn("npm", ["install", "--no-audit", "--no-fund"], {
    cwd: folder,
    env: { ...env },
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  const printed: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => printed.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => printed.push(chunk));
  const code = await new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  if (code === 0) return;
  const log = Buffer.concat(printed).toString().trimEnd().split("\n");
  if (err.isTerminal) err.write("\r");
  throw new TesseractError("BUILD_FAILED", `npm install failed in ${folder}`, {
    log,
    hint: "The project's files are there; run npm install again in its folder.",
  });
}

function report(
  folder: string,
  written: readonly string[],
  kept: number,
  isInstalled: boolean,
  terminal: Terminal,
): string {
  const style = styleFor(terminal.out, terminal);
  const there = relative(terminal.directory, folder);
  const next = [
    ...(there === "" ? [] : [`cd ${/\s/.test(there) ? JSON.stringify(there) : there}`]),
    ...(isInstalled ? [] : ["npm install"]),
    "npx tesseract-ts check tesseract.ts",
    "npx tesseract-ts serve tesseract.ts",
  ];
  return `${[
    ...written.map((path) => `${style("green", "wrote")} ${join(there, path)}`),
    ...(kept === 0 ? [] : [`${kept} that were there stayed as they are`]),
    "",
    "Next:",
    ...next.map((line) => `  ${style("cyan", line)}`),
    "and in another terminal",
    `  ${style("cyan", `npx tesseract-ts call http://localhost:8000 apply '{"x": [1, 2, 3]}'`)}`,
  ].join("\n")}\n`;
}
