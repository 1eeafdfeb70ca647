/** The README opens with an example that works. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { ServedTesseract } from "../src/index.js";
import { apply, atTheEnd } from "./support.js";

test("the first program of the README serves what it says", async () => {
  const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const program = /```ts\n(.*?)```/s.exec(text)?.[1] ?? "";
  const folder = await mkdtemp(fileURLToPath(new URL("readme-", import.meta.url)));
  atTheEnd(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, "program.ts");
  // It goes on until it is closed, which is up to the test here.
  const ended = program
    .replace("port: 8000", "port: 0")
    .replace("await using served", "export const served")
    .replace("await served.closed;", "");
  await writeFile(file, ended);
  const { served } = (await import(file)) as { served: ServedTesseract };
  atTheEnd(() => served.close());
  expect((await apply(served, { x: [1, 2] })).json).toMatchObject({ y: { data: { buffer: [2, 4] } } });
});
