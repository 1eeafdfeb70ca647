/** Where this package is installed. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

interface Manifest {
  readonly name?: unknown;
  readonly version?: unknown;
}

const NAME = "@tesseract-ts/cuda-simulator";

/** The folder with this package's package.json, whether this runs from `src` or from `dist`. */
export function packageRoot(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (manifestOf(folder).name !== NAME) {
    const above = dirname(folder);
    if (above === folder) throw new Error(`This isn't part of an installed ${NAME}`);
    folder = above;
  }
  return folder;
}

export function packageVersion(): string {
  return String(manifestOf(packageRoot()).version);
}

function manifestOf(folder: string): Manifest {
  const file = join(folder, "package.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : {};
}
