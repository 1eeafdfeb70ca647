// PyTorch's autograd goes through a Tesseract served by TypeScript, on the CPU.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "@tesseract-ts/serve";
import { describe, expect, test } from "vitest";
import { runProgram } from "../src/python.js";
import waves from "../src/waves.js";

const script = fileURLToPath(new URL("../src/drive-torch.py", import.meta.url));

/** An interpreter with tesseract-torch, which setup leaves out: it needs Python 3.12, and 5 GB with PyTorch from PyPI. */
const python = process.env.TESSERACT_TORCH_PYTHON;
const missing =
  python === undefined
    ? "No tesseract-torch (Python 3.12 and 5 GB, which is why setup leaves it out): set TESSERACT_TORCH_PYTHON to an " +
      "interpreter that has tesseract-torch 0.2 and tesseract-core[runtime] 1.15."
    : existsSync(python)
      ? undefined
      : `TESSERACT_TORCH_PYTHON is ${python}, which doesn't exist.`;

describe("apply_tesseract of tesseract-torch", () => {
  test("gives what plain PyTorch gives, backward and forward", async (context) => {
    if (python === undefined || missing !== undefined) return context.skip(missing);
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
