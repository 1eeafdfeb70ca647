/** `tesseract-ts openapi`: a Tesseract's OpenAPI document. */
import { command } from "../command.js";
import { EXIT } from "../failure.js";
import { openTarget, targetOptions } from "../target.js";
import { writeResult } from "../write-result.js";

export const openapi = command({
  name: "openapi",
  summary: "Print a Tesseract's OpenAPI document: its endpoints and schemas.",
  arguments: [{ name: "TARGET", help: "a URL, a file (.ts, .mts, .js, .mjs, .py), or a container image" }],
  options: {
    out: { kind: "text", value: "FILE", short: "o", help: "write it there" },
    ...targetOptions,
  },
  examples: [
    { command: "tesseract-ts openapi tesseract.ts", what: "in lines, to be read" },
    {
      command: "tesseract-ts openapi http://localhost:8000 --json | jq '.paths | keys'",
      what: "in one line, for a script",
    },
  ],
  async run({ options, given: [target = ""], terminal, progress, json }) {
    await using opened = await openTarget(target, options, { terminal, progress });
    const text = JSON.stringify(opened.tesseract.openapiSchema, plain, json ? undefined : 2);
    await writeResult(text, options.out, terminal);
    return EXIT.ok;
  },
});

/** Limits beyond 2^53 come as bigints. */
const plain = (_: string, value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value);
