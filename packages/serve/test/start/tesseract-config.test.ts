import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TesseractError } from "@tesseract-ts/core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readTesseractConfig } from "../../src/start/tesseract-config.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tesseract-config-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function configOf(text: string): ReturnType<typeof readTesseractConfig> {
  writeFileSync(join(folder, "tesseract_config.yaml"), text);
  return readTesseractConfig(folder);
}

describe("tesseract_config.yaml", () => {
  test("needn't be there", async () => {
    expect(await readTesseractConfig(join(folder, "elsewhere"))).toBeUndefined();
  });

  test("has the reference's defaults", async () => {
    expect(await configOf("name: heat\nbuild_config:\n")).toEqual({
      name: "heat",
      version: "unknown",
      description: "",
      env: {},
      requirements: { provider: "uv-pip", pythonVersion: undefined, file: "tesseract_requirements.txt" },
      inheritBaseImagePackages: false,
      buildEnv: {},
      hasHostCredentials: false,
    });
  });

  test("says what is needed", async () => {
    const text = `
name: heat
version: "1.2.3"
env: { A: "1" }
build_config:
  base_image: debian:bookworm-slim
  build_env: { UV_INDEX_STRATEGY: unsafe-best-match }
  requirements: { provider: uv-pip, python_version: "3.12", requirements_file: pylock.toml }
  host_credentials: [{ host: example.org, secret_id: token }]
`;
    expect(await configOf(text)).toMatchObject({
      version: "1.2.3",
      env: { A: "1" },
      buildEnv: { UV_INDEX_STRATEGY: "unsafe-best-match" },
      requirements: { provider: "uv-pip", pythonVersion: "3.12", file: "pylock.toml" },
      hasHostCredentials: true,
    });
    expect(await configOf("name: a\nbuild_config: {requirements: {provider: conda}}")).toMatchObject({
      requirements: { provider: "conda", file: "tesseract_environment.yaml" },
    });
  });

  test.each([
    ["", "the file is no mapping"],
    ["name: [", "can't be read"],
    ["version: '1'", "name is missing"],
    ["name: ''", "name is empty"],
    ["name: a\nnmae: b", "nmae is unknown"],
    ["name: a\nenv: {A: 1}", "env.A is 1, and must be text: put it in quotes"],
    ["name: a\nbuild_config: {requirments: {}}", "build_config.requirments is unknown"],
    ["name: a\nbuild_config: {requirements: {provider: pip}}", 'must be "uv-pip" or "conda"'],
    ["name: a\nbuild_config: {requirements: {provider: uv-pip, python_version: 3.12}}", "put it in quotes"],
    ["name: a\nbuild_config: {requirements: {provider: uv-pip, requirements_file: ../a.txt}}", "no name of a file"],
    ["name: a\nbuild_config: {inherit_base_image_packages: 1}", "no boolean"],
    [
      "name: a\nbuild_config: {inherit_base_image_packages: true, requirements: {provider: uv-pip, python_version: '3.12'}}",
      "exclude one another",
    ],
  ])("%j is refused with the place", async (text, reason) => {
    const error: unknown = await configOf(text).catch((caught) => caught);
    expect(error).toBeInstanceOf(TesseractError);
    expect(error).toMatchObject({ code: "ENVIRONMENT_FAILED", hint: expect.stringContaining("pythonExecutable") });
    expect((error as TesseractError).message).toContain(reason);
  });
});
