import { expect, test } from "vitest";
import { findExecutable, wordsOf } from "../../src/start/executables.js";

test("a program is found by its name, and by its path", async () => {
  expect(await findExecutable("sh")).toMatch(/\/sh$/);
  expect(await findExecutable(process.execPath)).toBe(process.execPath);
});

test("what isn't there, a folder, and a file that can't be run aren't programs", async () => {
  expect(await findExecutable("no-such-program-here")).toBeUndefined();
  expect(await findExecutable("/")).toBeUndefined();
  expect(await findExecutable(import.meta.filename)).toBeUndefined();
});

test("a variable may have arguments, in quotes where they hold spaces", () => {
  expect(wordsOf(`uv --cache-dir "/my cache" 'a b'`)).toEqual(["uv", "--cache-dir", "/my cache", "a b"]);
});
