/** References to array files, as untrusted text: `path[:offset[:compressed_size]]`. */

import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { open, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { TesseractError } from "@tesseract-ts/core";

export interface Reference {
  readonly file: string;
  readonly offset: number;
  /** Bytes in the file, where they aren't the array's own. */
  readonly compressedSize: number | undefined;
}

/** @throws TesseractError DECODE_FAILED */
export function parseReference(text: unknown, path: string): Reference {
  const match = typeof text === "string" ? /^(.+?)(?::(\d+)(?::(\d+))?)?$/s.exec(text) : null;
  const file = match?.[1];
  if (match === null || file === undefined) {
    const found = typeof text === "string" ? JSON.stringify(text) : `a ${typeof text}`;
    throw new TesseractError("DECODE_FAILED", `${path}: ${found} is no reference to a file`);
  }
  const offset = Number(match[2] ?? 0);
  const compressedSize = match[3] === undefined ? undefined : Number(match[3]);
  if (!Number.isSafeInteger(offset) || !(compressedSize === undefined || Number.isSafeInteger(compressedSize))) {
    throw new TesseractError("DECODE_FAILED", `${path}: the offset or size in ${JSON.stringify(text)} is too large`);
  }
  return { file, offset, compressedSize };
}

/**
 * Opens a file below `directory` for reading. Paths that leave it are refused, by whatever means: absolute, `..`, a
 * URL, a symbolic link. So is what isn't a regular file.
 *
 * @throws TesseractError PATH_ESCAPE, FILE_ERROR
 */
export async function openWithin(
  directory: string,
  file: string,
  path: string,
): Promise<{ readonly handle: FileHandle; readonly size: number }> {
  if (
    isAbsolute(file) ||
    /^[a-z][a-z0-9+.-]*:/i.test(file) ||
    file.includes("\0") ||
    !isBelow(directory, resolve(directory, file))
  ) {
    throw escapes(directory, file, path);
  }
  try {
    const [root, real] = await Promise.all([realpath(directory), realpath(resolve(directory, file))]);
    if (!isBelow(root, real)) throw escapes(directory, file, path);
    // The real path has no links; should one appear meanwhile it isn't followed. A FIFO must not block the opening.
    const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = await handle.stat();
    if (found.isFile()) return { handle, size: found.size };
    await handle.close();
  } catch (error) {
    if (error instanceof TesseractError) throw error;
    throw new TesseractError("FILE_ERROR", `${path}: the file "${file}" in ${directory} can't be read`, {
      cause: error,
      hint: "outputPath must be the server's output directory, as this process sees it.",
    });
  }
  throw new TesseractError("FILE_ERROR", `${path}: "${file}" in ${directory} is no regular file`);
}

function isBelow(directory: string, file: string): boolean {
  const way = relative(resolve(directory), file);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const escapes = (directory: string, file: string, path: string): TesseractError =>
  new TesseractError("PATH_ESCAPE", `${path}: the file reference ${JSON.stringify(file)} leaves ${directory}`, {
    hint: "The file isn't read. A server that sends such a reference is faulty or hostile.",
  });
