// PyTorch's autograd goes through a Tesseract served by TypeScript, on the CPU.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "@tesseract-ts/serve";
import { describe, expect, test } from "vitest";
import { repositoryRoot, runProgram } from "../src/python.js";
import waves from "../src/waves.js";

const script = fileURLToPath(new URL("../src/drive-torch.py", import.meta.url));

/** An interpreter with tesseract-torch, as requirements/torch.txt has it. */
const python = process.env.TESSERACT_TORCH_PYTHON ?? join(repositoryRoot, ".venv-torch/bin/python");

const missing = existsSync(python)
  ? undefined
  : `No tesseract-torch: ${python} doesn't exist. Setup makes it in CI only, with Python 3.12 or newer: with PyTorch it takes 6 GB.`;

describe("apply_tesseract of tesseract-torch", () => {
  test("gives what plain PyTorch gives, backward and forward", async (context) => {
    if (missing !== undefined) context.skip(missing);
    const outputPath = await mkdtemp(join(tmpdir(), "tesseract-serve-torch-"));
    await using served = await serve(waves, { port: 0, outputPath });
    const distances = JSON.parse(await runProgram(python, [script, served.url], { timeout: 400_000 }));
    expect(Object.keys(distances)).toHaveLength(9);
    for (const [computed, distance] of Object.entries(distances)) {
      expect({ [computed]: (distance as number) < 1e-12 ? "equal" : distance }).toEqual({ [computed]: "equal" });
    }
    await rm(outputPath, { recursive: true, force: true });
  }, 420_000);
});
