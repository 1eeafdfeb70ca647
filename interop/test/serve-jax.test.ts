// JAX differentiates, batches and compiles programs that call a Tesseract served by TypeScript.

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serve } from "@tesseract-ts/serve";
import { describe, expect, test } from "vitest";
import { repositoryRoot, runProgram } from "../src/python.js";
import waves from "../src/waves.js";

const script = fileURLToPath(new URL("../src/drive-jax.py", import.meta.url));

/** An interpreter with tesseract-jax, as requirements/jax.txt has it. */
const python = process.env.TESSERACT_JAX_PYTHON ?? join(repositoryRoot, ".venv-jax/bin/python");

const missing = existsSync(python) ? undefined : `No tesseract-jax: ${python} doesn't exist.`;

describe("apply_tesseract", () => {
  test("gives what plain JAX gives, under every transformation", async (context) => {
    if (missing !== undefined) {
      if (process.env.CI) throw new Error(missing);
      context.skip(missing);
    }
    const outputPath = await mkdtemp(join(tmpdir(), "tesseract-serve-jax-"));
    await using served = await serve(waves, { port: 0, outputPath });
    const printed = await runProgram(python, [script, served.url], { env: { JAX_PLATFORMS: "cpu" }, timeout: 400_000 });
    const distances = JSON.parse(printed) as Record<string, number>;
    for (const transformation of ["call", "jit", "grad", "jvp", "vjp", "jacobian", "jacfwd"]) {
      expect(distances).toHaveProperty(transformation);
    }
    expect(Object.keys(distances)).toHaveLength(12 + 4 * 9);
    for (const [transformation, distance] of Object.entries(distances)) {
      expect({ [transformation]: distance < 1e-12 ? "equal" : distance }).toEqual({ [transformation]: "equal" });
    }
    await rm(outputPath, { recursive: true, force: true });
  }, 420_000);
});
