// What is started from source: Python, by the reference runtime, in an interpreter that is given or an environment that is built.
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import type { FromSourceOptions } from "@tesseract-ts/serve";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { findPython, runProgram } from "../src/python.js";
import { fromSource } from "../src/start-built.js";
import { findUv } from "../src/start-uv.js";
import { describeWithRuntime } from "../src/with-runtime.js";

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/${name}/tesseract_api.py`, import.meta.url));
const LIMIT_MS = 600_000;
const given = (): FromSourceOptions => ({ startTimeout: 300_000, pythonExecutable: findPython() });
const x = new Float64Array([1, 2]);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "start-python-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function source(name: string, files: Readonly<Record<string, string>>): Promise<string> {
  const own = join(folder, name);
  await mkdir(own);
  for (const [file, text] of Object.entries(files)) await writeFile(join(own, file), text);
  return join(own, "tesseract_api.py");
}

async function failureOf(work: Promise<unknown>): Promise<TesseractError> {
  const error: unknown = await work.then(
    () => undefined,
    (reason) => reason,
  );
  if (error instanceof TesseractError) return error;
  throw new Error(`No TesseractError, but ${String(error)}`);
}

/** Only what an environment has decides whether it can be built and served; the arithmetic is somebody else's test. */
const twice = `
import os
from pydantic import BaseModel
from tesseract_core.runtime import Array

class InputSchema(BaseModel):
    x: Array[(None,), "float64"]

class OutputSchema(BaseModel):
    y: Array[(None,), "float64"]

def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=float(os.environ.get("FACTOR", "2")) * inputs.x)
`;

describeWithRuntime("1.15", "a Tesseract in Python", () => {
  test("tells what a call prints, by its run's id, and says so when it ends in a call", {
    timeout: LIMIT_MS,
  }, async () => {
    const lines: { readonly line: string; readonly runId: string | undefined }[] = [];
    await using tess = await fromSource(fixture("faults"), {
      ...given(),
      onLog: (line, runId) => lines.push({ line, runId }),
    });
    await tess.apply({ action: "print", message: "a word from the endpoint", x }, { runId: "prints" });
    expect(lines).toContainEqual({ line: expect.stringContaining("a word from the endpoint"), runId: "prints" });
    expect(lines).toContainEqual({ line: expect.stringContaining("Uvicorn running on"), runId: undefined });
    const error = await failureOf(tess.apply({ action: "exit", x }));
    expect(error.code).toBe("PROCESS_ENDED");
    expect(error.message).toContain("ended with exit code 1");
    expect(error.log?.join("\n")).toContain("Uvicorn running on");
  });

  test("is ended by force in a call that takes too long", { timeout: LIMIT_MS }, async () => {
    await using tess = await fromSource(fixture("faults"), { ...given(), stopTimeout: 200 });
    const call = failureOf(tess.apply({ action: "sleep", seconds: 3_600, x }));
    const began = async (): Promise<readonly string[]> => readdir(tess.outputPath);
    await expect.poll(began, { timeout: 60_000 }).toContain("calls.txt");
    await tess.close();
    expect((await call).code).toBe("CLOSED");
    expect(await tess.ended).toEqual({ kind: "killed", signal: "SIGKILL" });
    await expect(stat(tess.outputPath)).rejects.toThrow();
  });

  test("is named by its configuration, and has its variables; options win", { timeout: LIMIT_MS }, async () => {
    const path = await source("configured", {
      "tesseract_api.py": twice,
      "tesseract_config.yaml": 'name: twice\nversion: "1.2.3"\nenv: { FACTOR: "3" }\n',
    });
    await using one = await fromSource(path, given());
    expect(one.openapiSchema.info).toMatchObject({ title: "twice", version: "1.2.3" });
    expect((await one.apply({ x })).y).toMatchObject({ data: new Float64Array([3, 6]) });
    const options = { env: { FACTOR: "5" }, runtimeConfig: { name: "five", debug: true } };
    await using other = await fromSource(path, { ...given(), ...options });
    expect(other.openapiSchema.info).toMatchObject({ title: "five" });
    expect(other.availableEndpoints).toContain("test");
    expect((await other.apply({ x })).y).toMatchObject({ data: new Float64Array([5, 10]) });
  });

  test("that can't be imported says why", { timeout: LIMIT_MS }, async () => {
    const wrong = await source("wrong", { "tesseract_api.py": "def apply(:\n" });
    const syntax = await failureOf(fromSource(wrong, given()));
    expect(syntax).toMatchObject({ code: "LOAD_FAILED", message: expect.stringContaining("SyntaxError") });
    expect(syntax.log?.join("\n")).toContain("line 1");
    const missing = await source("missing", { "tesseract_api.py": "import a_module_that_is_missing\n" });
    const absent = await failureOf(fromSource(missing, given()));
    expect(absent).toMatchObject({ code: "LOAD_FAILED", hint: expect.stringContaining("a_module_that_is_missing") });
  });

  test("needs an interpreter, and one that has a runtime", { timeout: LIMIT_MS }, async () => {
    const path = fixture("plain");
    const nowhere = await failureOf(fromSource(path, { pythonExecutable: join(folder, "python") }));
    expect(nowhere).toMatchObject({ code: "ENVIRONMENT_FAILED", message: expect.stringContaining("no interpreter") });
    const node = await failureOf(fromSource(path, { pythonExecutable: process.execPath }));
    expect(node).toMatchObject({ code: "ENVIRONMENT_FAILED", message: expect.stringContaining("can't be run as") });
    await runProgram(findPython(), ["-m", "venv", "--without-pip", join(folder, "bare")]);
    const bare = await failureOf(fromSource(path, { pythonExecutable: join(folder, "bare/bin/python") }));
    expect(bare).toMatchObject({
      code: "ENVIRONMENT_FAILED",
      hint: expect.stringContaining("tesseract-core[runtime]"),
    });
  });
});

describe.each(["1.12", "1.13"] as const)("an older runtime", (version) => {
  describeWithRuntime(version, `${version}, which watches no pipe`, () => {
    test("is started and stopped all the same", { timeout: LIMIT_MS }, async () => {
      await using tess = await fromSource(fixture("faults"), { ...given(), pythonExecutable: findPython(version) });
      expect((await tess.apply({ x })).y).toMatchObject({ data: x });
      await tess.close();
      // uvicorn ends by the signal that asked it to, once it has shut down.
      expect(await tess.ended).toEqual({ kind: "killed", signal: "SIGTERM" });
      expect(tess.log.join("\n")).toContain("Application shutdown complete");
    });
  });
});

describeWithRuntime("1.15", "without an interpreter, an environment", () => {
  beforeAll(() => {
    vi.stubEnv("TESSERACT_UV_EXECUTABLE", findUv());
  });
  afterAll(() => {
    vi.unstubAllEnvs();
  });

  /** Brings the runtime from where it is installed already, as an editable package does, so that little is downloaded. */
  const borrowed = async (): Promise<string> => {
    const packages = await runProgram(findPython(), ["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]);
    return `
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "borrowed"
version = "1"

[tool.setuptools]
packages = []
package-dir = { "" = ${JSON.stringify(packages.trim())} }
`;
  };

  test("is built from the configuration by uv, and used again until that changes", { timeout: LIMIT_MS }, async () => {
    const version = (
      await runProgram(findPython(), ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
    ).trim();
    const path = await source("built", {
      "tesseract_api.py": twice,
      "tesseract_config.yaml": `name: twice\nbuild_config: {requirements: {provider: uv-pip, python_version: "${version}"}}\n`,
      "tesseract_requirements.txt": "./borrowed\n",
    });
    await mkdir(join(folder, "built/borrowed"));
    await writeFile(join(folder, "built/borrowed/pyproject.toml"), await borrowed());
    const steps: string[] = [];
    const options: FromSourceOptions = {
      startTimeout: 300_000,
      onProgress: ({ step, message }) => step === "environment" && steps.push(message),
    };
    {
      await using tess = await fromSource(path, options);
      expect((await tess.apply({ x })).y).toMatchObject({ data: new Float64Array([2, 4]) });
    }
    expect(steps).toEqual([
      `Making a virtual environment with Python ${version}`,
      "Installing tesseract_requirements.txt",
      "Installing local requirements in place",
    ]);
    const environments = async (): Promise<string[]> => readdir(join(folder, "built/.tesseract-ts-venv"));
    expect((await environments()).sort()).toEqual([".gitignore", expect.stringContaining(`python-${version}-`)]);
    steps.length = 0;
    await (await fromSource(path, options)).close();
    expect(steps).toEqual([]);
    await writeFile(join(folder, "built/tesseract_requirements.txt"), "./borrowed\n# changed\n");
    await (await fromSource(path, options)).close();
    expect(steps).toHaveLength(3);
    expect(await environments()).toHaveLength(3);
  });

  test("that can't be built says what uv said, and leaves nothing", { timeout: LIMIT_MS }, async () => {
    const path = await source("unbuildable", {
      "tesseract_api.py": twice,
      "tesseract_config.yaml": "name: twice\n",
      "tesseract_requirements.txt": "./nowhere\n",
    });
    const error = await failureOf(fromSource(path));
    expect(error.code).toBe("ENVIRONMENT_FAILED");
    expect(error.message).toContain("installing tesseract_requirements.txt: uv ended with exit code");
    expect(error.log?.join("\n")).toContain("nowhere");
    expect(await readdir(join(folder, "unbuildable"))).toHaveLength(3);
  });
});
