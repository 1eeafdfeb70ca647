// Every link of the documentation leads somewhere, and every file that a page names is there.

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allPages, anchorsOf, codeOf, linksOf, readPage, rowsOf } from "../src/documentation/pages.js";
import { repositoryRoot } from "../src/python.js";

const pages = await allPages();
const exists = (path: string): boolean => existsSync(join(repositoryRoot, path));

test("the pages are found", () => {
  expect(pages).toContain("README.md");
  expect(pages).toContain("docs/call.md");
  expect(pages).toContain("packages/core/README.md");
  expect(pages.length).toBeGreaterThan(20);
});

describe("no link is dead", () => {
  test.each(pages)("%s", async (page) => {
    const dead: string[] = [];
    for (const { place, target, path, anchor } of await linksOf(page)) {
      const file =
        exists(path) && statSync(join(repositoryRoot, path)).isDirectory()
          ? `${path.replace(/\/$/, "")}/README.md`
          : path;
      if (!exists(path)) dead.push(`${place}: ${target}: there is no ${path}`);
      else if (anchor !== undefined && !(exists(file) && (await anchorsOf(file)).has(anchor)))
        dead.push(`${place}: ${target}: ${file} has no heading #${anchor}`);
    }
    expect(dead).toEqual([]);
  });
});

describe("docs/architecture.md", async () => {
  const text = await readPage("docs/architecture.md");
  const section = (title: string): string => text.split(/^## /m).find((part) => part.startsWith(title)) ?? "";
  const published = readdirSync(join(repositoryRoot, "packages")).filter((name) =>
    exists(`packages/${name}/package.json`),
  );

  test("names no file or folder that is gone", () => {
    const named = codeOf(text).filter((code) =>
      /^(packages|interop|docs|examples|scripts|site|bench|gpu)(\/[\w.@-]+)*\/?$/.test(code),
    );
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter((path) => !exists(path))).toEqual([]);
  });

  test("follows a call with full file names, step by step", () => {
    const steps = section("The life of one call")
      .split(/^(?=\d+\. )/m)
      .slice(1);
    expect(steps.length).toBeGreaterThanOrEqual(12);
    for (const step of steps)
      expect(
        codeOf(step).some((code) => /^packages\/.*\.ts$/.test(code)),
        step,
      ).toBe(true);
  });

  test("says where to change each package", () => {
    const places = rowsOf(section("To change something")).map((cells) => cells[1] ?? "");
    for (const name of published)
      expect(
        places.some((cell) => cell.includes(`packages/${name}/`)),
        name,
      ).toBe(true);
  });

  test("its picture and its table have every package, and the table has what each imports", () => {
    const picture = readFileSync(join(repositoryRoot, "docs/architecture.svg"), "utf8");
    for (const name of published) expect(picture).toContain(`>${name}</text>`);
    const rows = rowsOf(section("The picture")).map(([name = "", imports = ""]) => [codeOf(name)[0], codeOf(imports)]);
    const wanted = published.map((name) => {
      const { dependencies = {} } = JSON.parse(
        readFileSync(join(repositoryRoot, "packages", name, "package.json"), "utf8"),
      );
      return [name, Object.keys(dependencies).flatMap((each) => each.match(/^@tesseract-ts\/(.+)$/)?.[1] ?? [])];
    });
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(wanted));
  });
});

test("commands of tesseract-ts that pages name are there", async () => {
  const missing: string[] = [];
  for (const page of pages) {
    for (const [, command] of (await readPage(page)).matchAll(/\btesseract-ts ([a-z]+)\b(?=[^\n]*[`\n])/g)) {
      if (!exists(`packages/serve/src/cli/commands/${command}.ts`)) missing.push(`${page}: ${command}`);
    }
  }
  expect(missing).toEqual([]);
});
