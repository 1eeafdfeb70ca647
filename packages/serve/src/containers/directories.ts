/** The folders that a container and this process both see. */
import { randomBytes } from "node:crypto";
import { chmodSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Directories } from "../start/connect.js";
import type { StartOptions } from "../start/started.js";
import type { Volume } from "./volumes.js";

/** Where the reference's images and ours have them. */
export const INNER_INPUT = "/tesseract/input_data";
export const INNER_OUTPUT = "/tesseract/output_data";

export interface ContainerDirectories {
  readonly directories: Directories;
  /** To be made by the guard of the container, and removed with it. */
  readonly folders: readonly string[];
  readonly volumes: readonly Volume[];
  /** Lets a container that runs as another user write to a folder that was made for it. */
  open(): void;
}

export async function directoriesFor(
  options: Pick<StartOptions, "inputPath" | "outputPath"> & { readonly user?: string },
): Promise<ContainerDirectories> {
  const own = join(tmpdir(), `tesseract-${randomBytes(8).toString("hex")}`);
  const inputPath = options.inputPath === undefined ? join(own, "input") : resolve(options.inputPath);
  const outputPath = options.outputPath === undefined ? join(own, "output") : resolve(options.outputPath);
  const made = [
    ...(options.inputPath === undefined ? [inputPath] : []),
    ...(options.outputPath === undefined ? [outputPath] : []),
  ];
  for (const given of [options.inputPath, options.outputPath]) {
    if (given !== undefined) await mkdir(resolve(given), { recursive: true });
  }
  return {
    directories: { inputPath, outputPath },
    folders: made.length === 0 ? [] : [own, ...made],
    volumes: [
      { source: inputPath, target: INNER_INPUT, mode: "ro" },
      { source: outputPath, target: INNER_OUTPUT, mode: "rw" },
    ],
    // The folder above them stays this user's.
    open: () => {
      if (options.user !== undefined) for (const folder of made) chmodSync(folder, 0o777);
    },
  };
}
