// Stamps: a file with the hash of what something was made from, written once it is whole.

import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A hash of strings, in their order. */
export function hashOf(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(`${Buffer.byteLength(part)}:${part}`);
  return hash.digest("hex");
}

/** A hash of files by name and content; of a folder, of all files in it. One that doesn't exist counts as such. */
export function hashOfFiles(folder, names) {
  const parts = names.flatMap((name) => filesIn(folder, name)).flatMap((name) => [name, read(join(folder, name))]);
  return hashOf(...parts);
}

function filesIn(folder, name) {
  const path = join(folder, name);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [name];
  return readdirSync(path)
    .sort()
    .flatMap((entry) => filesIn(folder, join(name, entry)));
}

/** A file's text, or "" if there is none. */
export function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Writes a file whole, or not at all. */
export function writeWhole(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, text);
  renameSync(temporary, path);
}

export const remove = (path) => rmSync(path, { recursive: true, force: true, maxRetries: 3 });
