/** Finds programs, as a shell would. */
import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { delimiter, isAbsolute, join, resolve, sep } from "node:path";

const suffixes = process.platform === "win32" ? [".exe", ".cmd", ""] : [""];

/** @returns the path of a program that is named, or given by a path; undefined if there is none */
export async function findExecutable(name: string): Promise<string | undefined> {
  const isPath = isAbsolute(name) || name.includes("/") || name.includes(sep);
  const folders = isPath ? [""] : (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  for (const folder of folders) {
    for (const suffix of suffixes) {
      const path = (isPath ? resolve(name) : join(folder, name)) + suffix;
      if (await isExecutable(path)) return path;
    }
  }
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) return false;
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** A program and its first arguments, as a variable has them: words, in quotes where they hold spaces. */
export const wordsOf = (text: string): readonly string[] =>
  [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? "");
