// Python environments, each as a file of requirements/ pins it: with versions of the reference runtime, with its clients for JAX and
// PyTorch, with programs that tests use, and with uv, which installs all others.
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
import { findPython, PythonMissing } from "./python.mjs";

const home = join(cache, "runtimes");

/**
 * @typedef {object} Environment
 * @property {string} link at the repository's root
 * @property {string} what is in it
 * @property {string} modules that must be there
 * @property {number} [oldest] minor version of Python that its packages run on
 * @property {string} [otherwise] the environment that takes its place where Python is older
 */

/** By the name of their file of requirements. @type {Readonly<Record<string, Environment>>} */
const environments = {
  uv: { link: ".venv-uv", what: "uv", modules: "uv" },
  "runtime-1.15": { link: ".venv", what: "Tesseract runtime 1.15", modules: "tesseract_core.runtime" },
  "runtime-1.13": { link: ".venv-1.13", what: "Tesseract runtime 1.13", modules: "tesseract_core.runtime" },
  "runtime-1.12": { link: ".venv-1.12", what: "Tesseract runtime 1.12", modules: "tesseract_core.runtime" },
  jax: { link: ".venv-jax", what: "tesseract-jax 0.5", modules: "tesseract_jax", oldest: 12, otherwise: "jax-0.4" },
  "jax-0.4": { link: ".venv-jax", what: "tesseract-jax 0.4", modules: "tesseract_jax" },
  torch: { link: ".venv-torch", what: "tesseract-torch", modules: "tesseract_torch", oldest: 12 },
  schemathesis: { link: ".venv-schemathesis", what: "schemathesis", modules: "schemathesis" },
  tools: {
    link: ".venv-tools",
    what: "schemathesis and tesseract-streamlit",
    modules: "schemathesis, tesseract_streamlit",
  },
};

/** Of these, those whose environment isn't whole, or what takes their place with this machine's Python. */
export async function missingRuntimes(versions) {
  const missing = [];
  for (const version of versions) {
    const { oldest, otherwise } = environments[version];
    if (await isWhole(version)) continue;
    if (oldest === undefined || (await hasPython(oldest))) missing.push(version);
    else if (otherwise !== undefined && !(await isWhole(otherwise))) missing.push(otherwise);
  }
  return missing;
}

async function hasPython(oldest) {
  try {
    await findPython(oldest);
    return true;
  } catch (error) {
    if (error instanceof PythonMissing) return false;
    throw error;
  }
}

/** Makes these environments. */
export async function makeRuntimes(versions) {
  if (versions.length === 0) return;
  if (!(await isWhole("uv"))) await make("uv");
  const queue = versions.filter((version) => version !== "uv");
  const lane = async () => {
    for (let version = queue.shift(); version !== undefined; version = queue.shift()) await make(version);
  };
  // One computes while the other waits for downloads. When one lane fails, what the other is making is kept.
  const results = await Promise.allSettled([lane(), lane()]);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

async function make(version) {
  const { link, what, oldest } = environments[version];
  const python = await findPython(oldest);
  await step(`${link}: ${what} for Python ${python.version}`, () => makeRuntime(version, python.path));
}

async function makeRuntime(version, python) {
  mkdirSync(home, { recursive: true });
  // A new folder each time: a pip that outlived a setup which was killed may still be writing to the last one.
  const folder = mkdtempSync(join(home, `${version}-`));
  chmodSync(folder, 0o755);
  const env = { ...childEnvironment(), PIP_USER: "0", PIP_NO_INPUT: "1", PIP_DISABLE_PIP_VERSION_CHECK: "1" };
  const inside = join(folder, "bin", "python");
  try {
    if (version === "uv" || !(await installWithUv(version, python, folder, env))) {
      await mustRun(python, ["-m", "venv", "--clear", folder], { env });
      await mustRun(inside, ["-m", "pip", "install", "--quiet", "-r", requirementsOf(version)], { cwd: root, env });
    }
    await mustRun(inside, ["-c", `import ${environments[version].modules}`], { env });
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

/** Several times as fast as pip, but it doesn't read pip's configuration, such as an index of one's own: then it's pip's turn. */
async function installWithUv(version, python, folder, env) {
  await mustRun(python, ["-m", "venv", "--without-pip", folder], { env });
  const uv = join(root, environments.uv.link, "bin", "uv");
  const install = [
    "pip",
    "install",
    "--quiet",
    "--python",
    join(folder, "bin", "python"),
    "-r",
    requirementsOf(version),
  ];
  return (await run(uv, install, { cwd: root, env })).status === 0;
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

const requirementsOf = (version) => join("requirements", `${version}.txt`);
const linkOf = (version) => environments[version].link;

/** An environment's scripts name its Python by its path, so one that was moved has to be made again. */
const stampFor = (version, folder) => hashOf(folder, ...pinsOf(version));
