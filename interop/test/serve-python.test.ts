// The reference's own client on a Tesseract served by TypeScript: it can't tell it from one served by Python.

import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ServedTesseract, type ServeOptions, serve } from "@tesseract-ts/serve";
import { afterAll, beforeAll, expect, test } from "vitest";
import vectors from "../../packages/inprocess/test/parity/twins/vectors.js";
import { runPython } from "../src/python.js";
import { describeWithRuntime, START_TIMEOUT, sharedRuntimes } from "../src/with-runtime.js";

const script = fileURLToPath(new URL("../src/drive-vectors.py", import.meta.url));

const theirs = sharedRuntimes({
  vectors: { fixture: "vectors", debug: true },
  compressed: { fixture: "vectors", debug: true, outputFormat: "json+base64", compression: "lz4" },
});

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-serve-python-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Address {
  readonly url: string;
  readonly inputPath: string;
  readonly outputPath: string;
}

async function driven({ url, inputPath, outputPath }: Address): Promise<Record<string, unknown>> {
  return JSON.parse(await runPython(script, [url, inputPath, outputPath], { timeout: START_TIMEOUT }));
}

async function served(
  name: string,
  options: ServeOptions,
  work: (address: Address & ServedTesseract) => Promise<void>,
) {
  const inputPath = join(folder, `${name}-in`);
  const outputPath = join(folder, `${name}-out`);
  await mkdir(inputPath);
  await using tess = await serve(vectors, { port: 0, inputPath, outputPath, debug: true, ...options });
  await work({ ...tess, inputPath, outputPath });
}

describeWithRuntime("1.15", "Tesseract.from_url", () => {
  test("gets the same from every endpoint, in every encoding, and the same refusals", async () => {
    await served("plain", {}, async (address) => {
      const [ours, expected] = [await driven(address), await driven(theirs.vectors())];
      for (const part of Object.keys(expected)) expect({ [part]: ours[part] }).toEqual({ [part]: expected[part] });
      expect(Object.keys(ours)).toEqual(Object.keys(expected));
      // Its input files are its own to remove, and output files stay.
      expect(await readdir(address.inputPath)).toEqual(await readdir(theirs.vectors().inputPath));
      expect((await readdir(address.outputPath)).every((name) => name.startsWith("run_"))).toBe(true);
    });
  }, 180_000);

  test("gets the same from servers that have been told another encoding", async () => {
    await served("compressed", { outputFormat: "json+base64", compression: "lz4" }, async (address) => {
      expect(await driven(address)).toEqual(await driven(theirs.compressed()));
    });
  }, 180_000);
});
