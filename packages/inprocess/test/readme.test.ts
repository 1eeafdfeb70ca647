// The programs of the README run, and print what it says.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test, vi } from "vitest";

const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
const programs = [...text.matchAll(/^```ts\n\/\/ (\S+)\n(.*?)^```$/gms)].map(([, name, source]) => ({
  name: name as string,
  source: source as string,
}));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(fileURLToPath(new URL(".", import.meta.url)), ".readme-"));
  for (const { name, source } of programs) await writeFile(join(folder, name), source);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test("there are programs", () => {
  expect(programs.map(({ name }) => name)).toEqual(["scale.ts", "main.ts", "derived.ts", "wave.ts"]);
});

test.each([
  ["main.ts", new Float64Array([2, 4, 6])],
  ["derived.ts", undefined],
  ["wave.ts", [2, 2]],
])("%s", async (name, printed) => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  await import(join(folder, name));
  const [[value] = []] = log.mock.calls;
  log.mockRestore();
  if (printed !== undefined) expect(value).toEqual(printed);
  else expect(Array.from(value as Float64Array, Math.round)).toEqual([3, 12, 27]);
});
