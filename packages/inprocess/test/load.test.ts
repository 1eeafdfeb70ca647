import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fromTesseractApi, loadTesseract } from "../src/index.js";
import { floats, open, tesseractError } from "./support.js";

// Within the package, so that its modules find what they import.
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(fileURLToPath(new URL(".", import.meta.url)), ".modules-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function moduleOf(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

// Plain JavaScript finds the sources through the loader of the tests, or not at all: it imports them by their path.
const source = fileURLToPath(new URL("../src/index.ts", import.meta.url));
const program = (types: boolean, exporting = "export default") => `
import { z } from "zod";
import { array, defineTesseract } from ${JSON.stringify(source)};
const factor${types ? ": number" : ""} = 3;
const schema = z.object({ x: array("float64", [null]) });
${exporting} defineTesseract({ name: "triple", inputs: schema, outputs: schema, apply: ({ x }) => ({ x: x.data.map((value) => factor * value) }) });
`;

describe("a Tesseract's module", () => {
  test.each(["triple.ts", "triple.mts"])("may be TypeScript: %s", async (name) => {
    const tess = await open(fromTesseractApi(await moduleOf(name, program(true))));
    expect(await tess.apply({ x: [1, 2] })).toEqual({ x: floats(3, 6) });
  });

  test("may export it by name", async () => {
    const { name } = await loadTesseract(await moduleOf("named.ts", program(true, "export const tesseract =")));
    expect(name).toBe("triple");
  });

  test("may be JavaScript", async () => {
    const path = await moduleOf(
      "brand.mjs",
      `export default { [Symbol.for("@tesseract-ts/inprocess/definition")]: true, name: "by hand" };`,
    );
    expect(await loadTesseract(path)).toMatchObject({ name: "by hand" });
  });

  test.each([
    ["missing.ts", undefined, "no such file"],
    ["other.py", "", '".py"'],
    ["empty.mjs", "export default 5;", "exports no Tesseract"],
    ["broken.mjs", "throw new Error('at start')", "at start"],
    ["syntax.ts", "const = ;", "syntax.ts"],
  ])("that can't be loaded tells why: %s", async (name, text, word) => {
    const path = text === undefined ? join(folder, name) : await moduleOf(name, text);
    await expect(loadTesseract(path)).rejects.toEqual(tesseractError("LOAD_FAILED", name, word));
  });
});
