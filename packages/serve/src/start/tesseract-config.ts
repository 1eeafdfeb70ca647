/** Reads `tesseract_config.yaml`, which says what a Tesseract in Python needs, as the reference's SDK does. */
import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { TesseractError } from "@tesseract-ts/core";
import { parse } from "yaml";

export const CONFIG_FILE = "tesseract_config.yaml";

export interface TesseractConfig {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Variables for its process. */
  readonly env: Readonly<Record<string, string>>;
  readonly requirements: Requirements;
  readonly inheritBaseImagePackages: boolean;
  /** Variables for the building of its environment. */
  readonly buildEnv: Readonly<Record<string, string>>;
  readonly hasHostCredentials: boolean;
}

export type Requirements =
  | { readonly provider: "uv-pip"; readonly pythonVersion: string | undefined; readonly file: string }
  | { readonly provider: "conda"; readonly file: "tesseract_environment.yaml" };

type Mapping = Readonly<Record<string, unknown>>;

const topMembers = ["name", "version", "description", "build_config", "env", "metadata"];
const buildMembers = [
  "base_image",
  "target_platform",
  "extra_packages",
  "package_data",
  "custom_build_steps",
  "inherit_base_image_packages",
  "requirements",
  "host_credentials",
  "build_env",
  "skip_checks",
];

/**
 * @param folder the Tesseract's
 * @returns undefined if there is no such file
 * @throws TesseractError ENVIRONMENT_FAILED if it can't be read, or isn't as the reference wants it
 */
export async function readTesseractConfig(folder: string): Promise<TesseractConfig | undefined> {
  const path = join(folder, CONFIG_FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unreadable(path, String(error), error);
  }
  try {
    // The reference reads it with PyYAML, which knows YAML 1.1.
    return configOf(parse(text, { version: "1.1" }));
  } catch (error) {
    throw unreadable(path, error instanceof Error ? error.message : String(error), error);
  }
}

const unreadable = (path: string, reason: string, cause: unknown): TesseractError =>
  new TesseractError("ENVIRONMENT_FAILED", `${path} can't be read: ${reason}`, {
    cause,
    hint: "Put it right, or pass `pythonExecutable`, an interpreter that has what the Tesseract needs.",
  });

function configOf(parsed: unknown): TesseractConfig {
  const top = mapping(parsed, "the file");
  noOthers(top, topMembers, "");
  const build =
    top.build_config === undefined || top.build_config === null ? {} : mapping(top.build_config, "build_config");
  noOthers(build, buildMembers, "build_config.");
  const requirements = requirementsOf(build.requirements ?? { provider: "uv-pip" });
  const inheritBaseImagePackages = build.inherit_base_image_packages ?? false;
  if (typeof inheritBaseImagePackages !== "boolean")
    throw new Error("build_config.inherit_base_image_packages is no boolean");
  if (inheritBaseImagePackages && requirements.provider === "uv-pip" && requirements.pythonVersion !== undefined) {
    throw new Error("python_version and inherit_base_image_packages exclude one another");
  }
  const name = text(top.name, "name");
  if (name === "") throw new Error("name is empty");
  return {
    name,
    version: text(top.version ?? "unknown", "version"),
    description: text(top.description ?? "", "description"),
    env: variables(top.env ?? {}, "env"),
    requirements,
    inheritBaseImagePackages,
    buildEnv: variables(build.build_env ?? {}, "build_config.build_env"),
    hasHostCredentials: Array.isArray(build.host_credentials) && build.host_credentials.length > 0,
  };
}

function requirementsOf(given: unknown): Requirements {
  const requirements = mapping(given, "build_config.requirements");
  const { provider } = requirements;
  const at = "build_config.requirements.";
  if (provider === "conda") {
    noOthers(requirements, ["provider"], at);
    return { provider, file: "tesseract_environment.yaml" };
  }
  if (provider !== "uv-pip")
    throw new Error(`${at}provider is ${JSON.stringify(provider)}, and must be "uv-pip" or "conda"`);
  noOthers(requirements, ["provider", "python_version", "requirements_file"], at);
  const version = requirements.python_version ?? undefined;
  const file = text(requirements.requirements_file ?? "tesseract_requirements.txt", `${at}requirements_file`);
  if (file === "" || file !== basename(file)) throw new Error(`${at}requirements_file is no name of a file beside it`);
  return { provider, pythonVersion: version === undefined ? undefined : text(version, `${at}python_version`), file };
}

/** A PEP 751 lock file, by its name. */
export const isPylock = (file: string): boolean => /^pylock(\.[^.]+)?\.toml$/.test(file);

function mapping(value: unknown, where: string): Mapping {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Mapping;
  throw new Error(`${where} is no mapping`);
}

function noOthers(given: Mapping, known: readonly string[], where: string): void {
  const other = Object.keys(given).find((member) => !known.includes(member));
  if (other !== undefined) throw new Error(`${where}${other} is unknown; there are ${known.join(", ")}`);
}

function text(value: unknown, where: string): string {
  if (typeof value === "string") return value;
  if (value === undefined) throw new Error(`${where} is missing`);
  throw new Error(`${where} is ${JSON.stringify(value)}, and must be text: put it in quotes`);
}

const variables = (value: unknown, where: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(mapping(value, where)).map(([name, each]) => [name, text(each, `${where}.${name}`)]),
  );
