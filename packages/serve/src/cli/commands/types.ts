/** `tesseract-ts types`: TypeScript types of a Tesseract's inputs and outputs. */
import { command } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { applySchemasOf } from "../schema/schema-tree.js";
import { typeName, typescriptOf } from "../schema/typescript.js";
import { openTarget, targetOptions } from "../target.js";
import { writeResult } from "../write-result.js";

export const types = command({
  name: "types",
  summary: "Write TypeScript types of a Tesseract's inputs and outputs.",
  arguments: [{ name: "TARGET", help: "a URL, a file (.ts, .mts, .js, .mjs, .py), or a container image" }],
  options: {
    name: { kind: "text", value: "NAME", help: "of the type (made of the Tesseract's name)" },
    out: { kind: "text", value: "FILE", short: "o", help: "write it there" },
    ...targetOptions,
  },
  about: [
    'The type is for fromUrl, fromSource and fromImage: `fromUrl<Heat>("http://localhost:8000", …)` knows what goes in and comes out.',
  ],
  examples: [
    { command: "tesseract-ts types http://localhost:8000 --out heat.ts", what: "of a Tesseract that is being served" },
    { command: "tesseract-ts types tesseract_api.py --name Heat", what: "of one in Python" },
  ],
  async run({ options, given: [target = ""], terminal, progress, json }) {
    const { name: given } = options;
    if (given !== undefined && !/^[A-Za-z_$][\w$]*$/.test(given)) {
      throw new UsageError(`"${given}" is no name for a type`, "Such as Heat.");
    }
    await using opened = await openTarget(target, options, { terminal, progress });
    const schemas = applySchemasOf(opened.tesseract.openapiSchema);
    const name = given ?? typeName(schemas.title);
    const text = typescriptOf(schemas, { name, source: `Made by: tesseract-ts types ${target}` });
    await writeResult(json ? JSON.stringify({ name, text }) : text, options.out, terminal);
    return EXIT.ok;
  },
});
