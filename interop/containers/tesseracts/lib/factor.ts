/** Reads a number from the file beside this module. */
import { readFile } from "node:fs/promises";

export const factor = async (): Promise<number> =>
  Number(await readFile(new URL("./factor.txt", import.meta.url), "utf8"));
