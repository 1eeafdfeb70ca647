/** What an image is made of: the Tesseract's modules in one file, the packages that it needs, and a recipe. */
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { bundle, packageName } from "../../src/images/bundle.js";
import { containerfile } from "../../src/images/containerfile.js";
import { copyPackages, findPackages } from "../../src/images/packages.js";
import { buildImage } from "../../src/index.js";
import { atTheEnd, failureOf, tesseractError, tesseractFile } from "../support.js";

/** A folder with these files. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tesseract-images-"));
  atTheEnd(() => rm(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const manifest = (name: string, version: string, more: object = {}): string =>
  JSON.stringify({ name, version, ...more });

describe("a bundle", () => {
  test("is one file, in which each module still knows where it was; packages stay imports", async () => {
    const folder = await folderWith({
      "src/heat.ts": `import { where } from "./lib/where.js"; import pad from "@scope/pad/left"; import "node:fs"; export { where, pad };`,
      "src/lib/where.ts": `const { url } = import.meta; export const where: string = new URL("w.bin", import.meta.url).href; void url;`,
    });
    const made = await bundle(join(folder, "src/heat.ts"), () => folder);
    expect(made.entry).toBe("src/heat.mjs");
    expect([...made.packages.keys()]).toEqual(["@scope/pad"]);
    expect(made.sources.map((path) => path.slice(folder.length))).toEqual(["/src/lib/where.ts", "/src/heat.ts"]);
    const target = await folderWith({
      "node_modules/@scope/pad/left.js": "export default 1;",
      "node_modules/@scope/pad/package.json": manifest("@scope/pad", "1.0.0", {
        type: "module",
        exports: { "./left": "./left.js" },
      }),
    });
    for (const { path, contents } of made.files) {
      await mkdir(dirname(join(target, path)), { recursive: true });
      await writeFile(join(target, path), contents);
    }
    const module = await import(/* @vite-ignore */ pathToFileURL(join(target, made.entry)).href);
    expect(module.where).toBe(pathToFileURL(join(target, "src/lib/w.bin")).href);
  });

  test("of what doesn't compile is refused, with the place", async () => {
    const folder = await folderWith({ "heat.ts": "export default {\n  x: ,\n};" });
    const error = await failureOf(() => bundle(join(folder, "heat.ts"), () => folder));
    expect(error).toEqual(tesseractError("BUILD_FAILED", "heat.ts:2:6"));
    expect(error.log?.[0]).toContain("heat.ts:2:6");
  });

  test.each([
    ["a", "a"],
    ["a/b.js", "a"],
    ["@s/a/b", "@s/a"],
    ["./a", undefined],
    ["https://example.org/a.js", undefined],
  ])("knows the package of %s", (specifier, name) => expect(packageName(specifier)).toBe(name));
});

describe("the packages of an image", () => {
  test("are found as Node finds them, and two versions of one stay two", async () => {
    const folder = await folderWith({
      "node_modules/a/package.json": manifest("a", "1.0.0", { dependencies: { b: "1", c: "1" } }),
      "node_modules/a/node_modules/b/package.json": manifest("b", "1.0.0", { dependencies: { c: "1" } }),
      "node_modules/b/package.json": manifest("b", "2.0.0", { peerDependencies: { a: "1" } }),
      "node_modules/c/package.json": manifest("c", "1.0.0", {
        optionalDependencies: { gone: "1", mac: "1" },
        devDependencies: { never: "1" },
      }),
      "node_modules/mac/package.json": manifest("mac", "1.0.0", { os: ["darwin"] }),
    });
    const { placed } = await findPackages([
      { name: "b", from: folder },
      { name: "a", from: folder },
    ]);
    expect(placed.map(({ place, manifest: { version } }) => `${place} ${version}`).sort()).toEqual([
      "node_modules/a 1.0.0",
      "node_modules/a/node_modules/b 1.0.0",
      "node_modules/b 2.0.0",
      "node_modules/c 1.0.0",
    ]);
  });

  test("that aren't installed are named, with who needs them", async () => {
    const folder = await folderWith({
      "node_modules/a/package.json": manifest("a", "1.0.0", { dependencies: { b: "1" } }),
    });
    expect(await failureOf(() => findPackages([{ name: "a", from: folder }]))).toEqual(
      tesseractError("BUILD_FAILED", '"b"', join(folder, "node_modules/a"), "npm install b"),
    );
  });

  test("that are linked are copied as they would be published, with an addon that was built here", async () => {
    const linked = await folderWith({
      "package.json": manifest("a", "1.0.0", { files: ["dist"] }),
      "dist/index.js": "",
      "dist/index.d.ts": "",
      "src/index.ts": "",
      "test/index.test.ts": "",
      "build/Release/a.node": "",
      "build/Release/obj.target/a.o": "",
      "node_modules/x/package.json": "{}",
    });
    const folder = await folderWith({ "node_modules/.keep": "" });
    await symlink(linked, join(folder, "node_modules/a"));
    const target = await folderWith({});
    await copyPackages(await findPackages([{ name: "a", from: folder }]), target);
    const has = (path: string): Promise<boolean> =>
      readFile(join(target, "node_modules/a", path)).then(
        () => true,
        () => false,
      );
    for (const path of ["package.json", "dist/index.js", "build/Release/a.node"])
      expect(await has(path), path).toBe(true);
    for (const path of [
      "dist/index.d.ts",
      "src/index.ts",
      "test/index.test.ts",
      "build/Release/obj.target/a.o",
      "node_modules/x/package.json",
    ]) {
      expect(await has(path), path).toBe(false);
    }
  });
});

describe("the recipe of an image", () => {
  test("can't be left by what a definition says", () => {
    const recipe = containerfile({
      base: "node:22-slim",
      name: 'he"at',
      version: "1",
      description: "two\nlines\\ of $HOME\nRUN rm",
      entry: "heat.mjs",
      program: "serve.js",
      runtime: "r",
      environment: { MORE: "a b" },
    });
    expect(recipe).toContain('TESSERACT_NAME="he\\"at"');
    expect(recipe).toContain('TESSERACT_DESCRIPTION="two lines\\\\ of \\$HOME RUN rm"');
    expect(recipe).toContain('MORE="a b"');
    expect(recipe.match(/^[A-Z]+/gm)).toEqual(
      "FROM LABEL ENV WORKDIR COPY USER EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD".split(" "),
    );
  });
});

describe("an image that can't be built", () => {
  test("is refused before an engine is asked: a name that is none, a file that isn't there, a folder that is in use", async () => {
    const used = await folderWith({ x: "" });
    const file = tesseractFile("work");
    expect(await failureOf(() => buildImage(file, { tag: "Heat it" }))).toEqual(
      tesseractError("INVALID_ARGUMENT", "Heat it"),
    );
    expect(await failureOf(() => buildImage("./nothing.ts", { tag: "heat" }))).toEqual(
      tesseractError("LOAD_FAILED", "nothing.ts"),
    );
    expect(await failureOf(() => buildImage(file, { tag: "heat", keep: used }))).toEqual(
      tesseractError("INVALID_ARGUMENT", "isn't empty"),
    );
  });
});
