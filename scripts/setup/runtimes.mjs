// Python environments with the reference runtime, one for each version, as requirements/runtime-*.txt pins them; one with JAX and
// tesseract-jax (requirements/jax.txt), one with schemathesis (requirements/schemathesis.txt), and one that has tesseract-streamlit as
// well (requirements/tools.txt).
//
// An environment is made under .cache/runtimes and only when whole linked as .venv (or .venv-1.13, .venv-jax and so on), so that
// nobody takes a half-made one for a whole one.

import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  symlinkSync,
  unlinkSync,
} from "node:fs";
import { join, relative } from "node:path";
import { childEnvironment, mustRun, run, SetupError } from "./child.mjs";
import { hashOf, read, remove, writeWhole } from "./fingerprint.mjs";
import { cache, root } from "./paths.mjs";
import { step } from "./progress.mjs";
import { findPython } from "./python.mjs";

const home = join(cache, "runtimes");

/** @typedef {"1.15" | "1.13" | "1.12" | "jax" | "schemathesis" | "tools"} RuntimeVersion */

/** Environments with something else than a version of the runtime. */
const others = {
  jax: { what: "tesseract-jax", module: "tesseract_jax" },
  schemathesis: { what: "schemathesis", module: "schemathesis" },
  tools: { what: "schemathesis and tesseract-streamlit", module: "schemathesis, tesseract_streamlit" },
};

/** Of these versions, those whose environment isn't whole. */
export async function missingRuntimes(versions) {
  const whole = await Promise.all(versions.map(isWhole));
  return versions.filter((_, index) => !whole[index]);
}

/** Makes the environments of these versions. */
export async function makeRuntimes(versions) {
  if (versions.length === 0) return;
  const python = await findPython();
  const queue = [...versions];
  const lane = async () => {
    for (let version = queue.shift(); version !== undefined; version = queue.shift()) {
      const what = others[version]?.what ?? `Tesseract runtime ${version}`;
      const made = version;
      await step(`${linkOf(version)}: ${what} for Python ${python.version}`, () => makeRuntime(made, python.path));
    }
  };
  // pip keeps one processor busy at most. When one lane fails, what the other is making is kept.
  const results = await Promise.allSettled([lane(), lane()]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

async function makeRuntime(version, python) {
  mkdirSync(home, { recursive: true });
  // A new folder each time: a pip that outlived a setup which was killed may still be writing to the last one.
  const folder = mkdtempSync(join(home, `${version}-`));
  chmodSync(folder, 0o755);
  const env = { ...childEnvironment(), PIP_USER: "0", PIP_NO_INPUT: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1" };
  const inside = join(folder, "bin", "python");
  try {
    await mustRun(python, ["-m", "venv", folder], { env });
    await mustRun(inside, ["-m", "pip", "install", "--quiet", "-r", requirementsOf(version)], { cwd: root, env });
    await mustRun(inside, ["-c", `import ${others[version]?.module ?? "tesseract_core.runtime"}`], { env });
    writeWhole(join(folder, ".stamp"), stampFor(version, realpathSync(folder)));
    link(version, folder);
  } catch (error) {
    remove(folder);
    throw error;
  }
  for (const name of readdirSync(home)) {
    if (name.startsWith(`${version}-`) && join(home, name) !== folder) remove(join(home, name));
  }
}

/** Puts the link in place in one step. */
function link(version, folder) {
  const path = join(root, linkOf(version));
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (existing !== undefined && !existing.isSymbolicLink()) {
    if (!existsSync(join(path, "pyvenv.cfg"))) {
      throw new SetupError(`${linkOf(version)} is in the way and is no Python environment: move it elsewhere.`);
    }
    remove(path);
  }
  const temporary = `${path}.${process.pid}`;
  symlinkSync(relative(root, folder), temporary);
  try {
    renameSync(temporary, path);
  } catch (error) {
    unlinkSync(temporary);
    throw error;
  }
}

/** Whether an environment was finished, still has every pinned package, and its Python still starts. */
async function isWhole(version) {
  const path = join(root, linkOf(version));
  if (!existsSync(path) || read(join(path, ".stamp")) !== stampFor(version, realpathSync(path))) return false;
  const script = "import sys; print('python%d.%d' % sys.version_info[:2])";
  const { status, output } = await run(join(path, "bin", "python"), ["-I", "-S", "-c", script]);
  if (status !== 0) return false;
  const packages = join(path, "lib", output.trim(), "site-packages");
  if (!existsSync(packages)) return false;
  const installed = new Set(readdirSync(packages).map(normalized));
  return pinsOf(version).every((pin) => installed.has(normalized(`${pin.replace("==", "-")}.dist-info`)));
}

/** Packages' names are written with any of these, in any case. */
const normalized = (name) => name.toLowerCase().replace(/[-_.]+/g, "-");

const pinsOf = (version) =>
  read(join(root, requirementsOf(version)))
    .split("\n")
    .filter((line) => line.includes("=="));

const requirementsOf = (version) =>
  join("requirements", version in others ? `${version}.txt` : `runtime-${version}.txt`);
const linkOf = (version) => (version === "1.15" ? ".venv" : `.venv-${version}`);

/** An environment's scripts name its Python by its path, so one that was moved has to be made again. */
const stampFor = (version, folder) => hashOf(folder, ...pinsOf(version));
