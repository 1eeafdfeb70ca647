import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TesseractError } from "@tesseract-ts/core";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pythonFor } from "../../src/start/python-environment.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "python-environment-"));
  writeFileSync(join(folder, "tesseract_config.yaml"), "name: heat\n");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Takes the place of uv, as a program that can't do it, or takes its time. */
function insteadOfUv(script: string): void {
  const path = join(folder, "uv");
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  vi.stubEnv("TESSERACT_UV_EXECUTABLE", path);
}

async function failureOf(options: Parameters<typeof pythonFor>[1] = {}): Promise<TesseractError> {
  const error: unknown = await pythonFor(join(folder, "tesseract_api.py"), options).catch((reason) => reason);
  if (error instanceof TesseractError) return error;
  throw new Error(`No TesseractError, but ${String(error)}`);
}

const environments = ".tesseract-ts-venv";

test("without a configuration, nobody knows what is needed", async () => {
  rmSync(join(folder, "tesseract_config.yaml"));
  expect(await failureOf()).toMatchObject({
    code: "ENVIRONMENT_FAILED",
    message: expect.stringContaining("There is no tesseract_config.yaml"),
    hint: expect.stringContaining("pythonExecutable"),
  });
});

test("without uv, it says how to get it", async () => {
  vi.stubEnv("TESSERACT_UV_EXECUTABLE", "no-such-uv --quiet");
  const error = await failureOf();
  expect(error).toMatchObject({ code: "ENVIRONMENT_FAILED", hint: expect.stringContaining("TESSERACT_UV_EXECUTABLE") });
  expect(error.message).toContain('"no-such-uv" isn\'t there');
});

test("a file of requirements that is named must be there, for a lock and for conda", async () => {
  const requirements = ["{provider: uv-pip, requirements_file: pylock.toml}", "{provider: conda}"];
  for (const each of requirements) {
    writeFileSync(join(folder, "tesseract_config.yaml"), `name: a\nbuild_config: {requirements: ${each}}`);
    expect((await failureOf()).message).toContain("there is no such file");
  }
});

test("a step that fails says which, with what was printed, and leaves nothing", async () => {
  insteadOfUv("echo resolving; echo no solution found >&2; exit 2");
  const steps: string[] = [];
  const error = await failureOf({ onProgress: ({ message }) => steps.push(message) });
  expect(error.code).toBe("ENVIRONMENT_FAILED");
  expect(error.message).toContain("making a virtual environment with Python 3.11: uv ended with exit code 2");
  expect(error.hint).toContain("python_version");
  expect([...(error.log ?? [])].sort()).toEqual(["no solution found", "resolving"]);
  expect(steps).toEqual(["Making a virtual environment with Python 3.11"]);
  expect(existsSync(join(folder, environments))).toBe(false);
});

test("a build that is aborted leaves nothing", { timeout: 120_000 }, async () => {
  insteadOfUv("echo begun; sleep 3600");
  const controller = new AbortController();
  const failing = failureOf({ signal: controller.signal, onLog: () => controller.abort("enough") });
  expect(await failing).toMatchObject({ code: "ABORTED", cause: "enough" });
  // Who only waited for it isn't held up by the cleaning up.
  await expect.poll(() => readdirSync(folder), { timeout: 60_000 }).not.toContain(environments);
});

test("who needs the same at once shares it, and hears of it", async () => {
  const [begun, goOn] = [join(folder, "begun"), join(folder, "go-on")];
  insteadOfUv(`echo begun >>${begun}; while [ ! -e ${goOn} ]; do sleep 0.05; done; echo failing; exit 1`);
  let joined = 0;
  const heard: string[] = [];
  const options = {
    onLog: (line: string) => heard.push(line),
    onProgress: () => {
      joined += 1;
      if (joined === 3) writeFileSync(goOn, "");
    },
  };
  const errors = await Promise.all([failureOf(options), failureOf(options), failureOf(options)]);
  expect(errors.map(({ code }) => code)).toEqual(Array(3).fill("ENVIRONMENT_FAILED"));
  expect(heard).toEqual(Array(3).fill("failing"));
  expect(readFileSync(begun, "utf8")).toBe("begun\n");
});

test("it goes on as long as one waits for it", { timeout: 120_000 }, async () => {
  const [begun, goOn] = [join(folder, "begun"), join(folder, "go-on")];
  insteadOfUv(`echo begun >>${begun}; while [ ! -e ${goOn} ]; do sleep 0.05; done; exit 3`);
  const controller = new AbortController();
  const first = failureOf({ signal: controller.signal });
  const second = failureOf({ onProgress: () => controller.abort() });
  expect(await first).toMatchObject({ code: "ABORTED" });
  writeFileSync(goOn, "");
  expect(await second).toMatchObject({ code: "ENVIRONMENT_FAILED", message: expect.stringContaining("exit code 3") });
  expect(readFileSync(begun, "utf8")).toBe("begun\n");
});

test("who comes when all others have given up begins anew", { timeout: 120_000 }, async () => {
  const note = join(folder, "note");
  insteadOfUv(`if [ -e ${note} ]; then exit 3; fi; touch ${note}; echo begun; sleep 3600`);
  const controller = new AbortController();
  expect(await failureOf({ signal: controller.signal, onLog: () => controller.abort() })).toMatchObject({
    code: "ABORTED",
  });
  expect(await failureOf()).toMatchObject({
    code: "ENVIRONMENT_FAILED",
    message: expect.stringContaining("exit code 3"),
  });
});
