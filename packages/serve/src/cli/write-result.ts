/** Writes a command's result to standard output, or to a file. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { TesseractError } from "@tesseract-ts/core";
import { styleFor } from "./terminal/style.js";
import type { Terminal } from "./terminal/terminal.js";

/** @throws TesseractError FILE_ERROR */
export async function writeResult(text: string, file: string | undefined, terminal: Terminal): Promise<void> {
  if (file === undefined) {
    terminal.out.write(text.endsWith("\n") ? text : `${text}\n`);
    return;
  }
  const path = resolve(terminal.directory, file);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text.endsWith("\n") ? text : `${text}\n`);
  } catch (error) {
    throw new TesseractError("FILE_ERROR", `${path} can't be written: ${String(error)}`, { cause: error });
  }
  terminal.err.write(`${styleFor(terminal.err, terminal)("green", "wrote")} ${file}\n`);
}
