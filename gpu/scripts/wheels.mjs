// The wheels with which a Python of a CUDA image, which has NumPy, serves a Tesseract.

import { existsSync, mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { childEnvironment, mustRun } from "../../scripts/setup/child.mjs";
import { read, remove, writeWhole } from "../../scripts/setup/fingerprint.mjs";
import { root } from "../../scripts/setup/paths.mjs";

/** What the reference's server imports. The rest of what it requires (MLflow, S3, a debugger) it doesn't need to serve. */
const NEEDED = `annotated-doc annotated-types anyio certifi charset-normalizer click fastapi fsspec h11 idna jinja2 lz4
  markdown-it-py markupsafe mdurl opentelemetry-api orjson packaging pybase64 pydantic pydantic-core pygments pyyaml requests rich shellingham
  starlette tesseract-core typer typing-extensions typing-inspection urllib3 uvicorn`.split(/\s+/);

/** By version of Python, what differs from the pinned requirements, which are for 3.11 and newer. */
const PYTHONS = {
  "3.10": { "annotated-doc": "0.0.6", starlette: "1.7.0", exceptiongroup: "1.3.1" },
  3.11: {},
  3.12: {},
};

const PLATFORMS = ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"];

/** Fills `folder` with `any` and one folder for each version, such as `cp312`. */
export async function downloadWheels(folder) {
  const python = existsSync(join(root, ".venv", "bin", "python")) ? join(root, ".venv", "bin", "python") : "python3";
  for (const [version, changes] of Object.entries(PYTHONS)) {
    const temporary = join(folder, "temporary");
    mkdirSync(temporary, { recursive: true });
    const requirements = join(temporary, "requirements.txt");
    writeWhole(requirements, pinned(changes));
    const flags = [
      "--quiet",
      "--disable-pip-version-check",
      "--no-deps",
      "--only-binary=:all:",
      "--python-version",
      version,
    ];
    const platforms = PLATFORMS.flatMap((platform) => ["--platform", platform]);
    await mustRun(python, ["-m", "pip", "download", ...flags, ...platforms, "--dest", temporary, "-r", requirements], {
      env: childEnvironment(),
    });
    const own = join(folder, `cp${version.replace(".", "")}`);
    const any = join(folder, "any");
    for (const path of [own, any]) mkdirSync(path, { recursive: true });
    for (const name of readdirSync(temporary).filter((file) => file.endsWith(".whl"))) {
      // Of a package whose version differs, this version of Python gets its own.
      const isShared = name.endsWith("-none-any.whl") && Object.keys(changes).every((each) => !isOf(name, each));
      const isOthers = Object.values(PYTHONS).some((other) => Object.keys(other).some((each) => isOf(name, each)));
      renameSync(join(temporary, name), join(isShared && !isOthers ? any : own, name));
    }
    remove(temporary);
  }
}

const normal = (name) => name.toLowerCase().replaceAll("_", "-");

const isOf = (wheel, name) => normal(wheel.split("-")[0]) === name;

function pinned(changes) {
  const pins = read(join(root, "requirements", "runtime-1.15.txt"))
    .split("\n")
    .filter((line) => line.includes("=="))
    .map((line) => line.split("=="));
  const versions = Object.fromEntries(pins.map(([name, version]) => [normal(name), version]));
  const missing = NEEDED.filter((name) => versions[name] === undefined);
  if (missing.length > 0) throw new Error(`requirements/runtime-1.15.txt has no ${missing.join(", ")}`);
  const chosen = { ...Object.fromEntries(NEEDED.map((name) => [name, versions[name]])), ...changes };
  return Object.entries(chosen)
    .map(([name, version]) => `${name}==${version}\n`)
    .join("");
}
