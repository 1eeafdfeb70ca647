// Tools that know a Tesseract by its OpenAPI document alone: schemathesis, and the parser of tesseract-streamlit.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ServedTesseract, serve } from "@tesseract-ts/serve";
import { afterAll, beforeAll, describe, expect, type TestContext, test } from "vitest";
import vectors from "../../packages/inprocess/test/parity/twins/vectors.js";
import { runProgram } from "../src/python.js";
import { schemathesis, streamlit, type Tool } from "../src/tools.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

let folder: string;
let served: ServedTesseract;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-serve-tools-"));
  served = await serve(vectors, { port: 0, outputPath: folder });
});
afterAll(async () => {
  await served.close();
  await rm(folder, { recursive: true, force: true });
});

const theirs = sharedRuntimes({
  vectors: { fixture: "vectors", env: { TESSERACT_NAME: "vectors", TESSERACT_RUNTIME_NAME: "vectors" } },
});

function skipWithout({ missing }: Tool, context: TestContext): void {
  if (missing === undefined) return;
  if (process.env.CI) throw new Error(missing);
  context.skip(missing);
}

describe("schemathesis", () => {
  test("finds no answer that the document doesn't describe, and no error of the server", async (context) => {
    skipWithout(schemathesis, context);
    const checks =
      "not_a_server_error,response_schema_conformance,content_type_conformance,response_headers_conformance";
    const url = `${served.url}/openapi.json`;
    // What it finds is an exit status, and then an error.
    const printed = await runProgram(
      schemathesis.path,
      ["run", url, "--phases", "fuzzing", "--max-examples", "25", "--seed", "1", "--checks", checks],
      {
        cwd: folder,
        timeout: 240_000,
      },
    );
    expect(printed).toMatch(/[1-9]\d* generated, [1-9]\d* passed/);
  }, 250_000);
});

describeWithRuntime("1.15", "tesseract-streamlit", () => {
  test("makes the same app of a Tesseract, whoever serves it", async (context) => {
    skipWithout(streamlit, context);
    const app = async (url: string, name: string): Promise<string> => {
      const file = join(folder, name);
      await runProgram(streamlit.path, [url, file], { cwd: folder });
      const text = await readFile(file, "utf8");
      // Each has its own words for what an endpoint does, and Python writes 1 as 1.0.
      return text
        .replaceAll(url, "URL")
        .replace(/_cast_type\((\d+)\.0,/g, "_cast_type($1,")
        .replace(/"(Runs the simulation|Apply the Tesseract to the input data)\."/g, '"…"');
    };
    expect(await app(served.url, "ours.py")).toBe(await app(theirs.vectors().url, "theirs.py"));
  }, 120_000);
});
