// The tutorial: its programs are the example's own code, the example passes, and every rule of the suite is on its page.
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { rules as adapterRules } from "../src/adapter/rules.js";
import { rules } from "../src/transport/rules.js";

// The example starts several processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 300_000 });

const root = fileURLToPath(new URL("../../..", import.meta.url));
const example = join(root, "examples/transport-shared-memory");
const page = (name: string): string => readFileSync(join(root, "docs", name), "utf8");

/** As GitHub makes them of headings. */
const anchorsOf = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/^#+ (.+)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );

test("each program on the page is a piece of the example", () => {
  const sources = readdirSync(example)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => readFileSync(join(example, name), "utf8"));
  const programs = [...page("write-a-transport.md").matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
  expect(programs.length).toBeGreaterThan(10);
  for (const program of programs) {
    const indented = program.replaceAll(/^/gm, "  ");
    expect(sources.some((source) => source.includes(program)) ? "" : indented).toBe("");
  }
});

test("each rule is where the suite says", () => {
  for (const { documented } of [...Object.values(rules), ...Object.values(adapterRules)]) {
    const [name = "", anchor = ""] = documented.split("#");
    expect(anchorsOf(page(name)), documented).toContain(anchor);
  }
});

test("the example passes the suite with node:test, and calls a Tesseract of another process", async (context) => {
  if (process.platform !== "linux") context.skip("It is for Linux: there is no /dev/shm here");
  const args = ["--import", "tsx", "--conditions", "source", "--test", "--test-reporter=tap", "shared-memory.test.ts"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: example, maxBuffer: 1 << 26 }).catch(
    (error: { stdout: string }) => {
      throw new Error(error.stdout);
    },
  );
  expect(stdout).toMatch(/^# pass [1-9]\d+$/m);
  expect(stdout).toMatch(/^# fail 0$/m);
});
