// The README opens with an example that works.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { base64 } from "../../transport-host/src/index.js";
import * as testkit from "../src/index.js";

test("the first program of the README declares cases, which pass", async () => {
  const text = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const program = /```ts\n(.*?)```/s.exec(text)?.[1] ?? "";
  const body = program.replaceAll(/^import .*$/gm, "");
  const cases: (() => Promise<void>)[] = [];
  const declare = {
    describe: (_: string, run: () => void) => run(),
    test: (_: string, run: () => Promise<void>) => cases.push(run),
  };
  const names = { ...testkit, ...declare, base64 };
  new Function(...Object.keys(names), body)(...Object.values(names));
  expect(cases.length).toBeGreaterThan(40);
  for (const run of cases.slice(0, 5)) await run();
});
