// File systems for images, of what this machine has: Node, or the Python environment of the reference, with the libraries that
// `ldd` names.

import { existsSync } from "node:fs";
import { chmod, copyFile, cp, mkdir, readdir, realpath, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { mustRun, run, SetupError } from "../../scripts/setup/child.mjs";
import { root } from "../../scripts/setup/paths.mjs";

/** Of Python's standard library, what only developers of Python need. */
const unused =
  /^(test|tests|idlelib|ensurepip|tkinter|turtledemo|lib2to3|site-packages|dist-packages|config-.*|distutils|pydoc_data)$/;

/** A file system with `node` in it. */
export async function makeNodeRootfs(folder, node = process.execPath) {
  await mkdir(join(folder, "usr/bin"), { recursive: true });
  await copyFile(node, join(folder, "usr/bin/node"));
  await copyLibraries([node], folder);
  await makeFolders(folder);
}

/** Tesseracts of the tests that are in the reference's image, below `/tesseract`. */
export const tesseracts = {
  "vectors/tesseract_api.py": "interop/fixtures/vectors/tesseract_api.py",
  "faults/tesseract_api.py": "interop/fixtures/faults/tesseract_api.py",
  "rotate/tesseract_api.py": "packages/cuda-simulator/test/interop/python/rotate/tesseract_api.py",
  "device_memory.py": "packages/cuda-simulator/test/interop/python/device_memory.py",
};

/** A file system with the reference runtime and Tesseracts in it. */
export async function makeReferenceRootfs(folder) {
  const api = join(root, tesseracts["vectors/tesseract_api.py"]);
  const python = join(root, ".venv", "bin", "python");
  const script = join(root, "interop", "containers", "python-files.py");
  const output = await mustRun(python, [script, api], { cwd: root });
  const { executable, standardLibrary, site, packages } = JSON.parse(output.trim().split("\n").at(-1));
  // Python finds its library by where its program is.
  await copyTree(executable, join(folder, executable), () => true);
  await mkdir(join(folder, "usr/bin"), { recursive: true });
  if (executable !== "/usr/bin/tesseract-python") await symlink(executable, join(folder, "usr/bin/tesseract-python"));
  await copyTree(standardLibrary, join(folder, standardLibrary), (name) => !unused.test(name));
  for (const name of packages) await copyTree(join(site, name), join(folder, "python-env", name), () => true);
  const libraries = [
    ...(await sharedLibraries(join(folder, standardLibrary))),
    ...(await sharedLibraries(join(folder, "python-env"))),
  ];
  await copyLibraries([executable, ...libraries], folder);
  await writeFile(
    join(folder, "usr/bin/tesseract-runtime"),
    "import sys\nfrom tesseract_core.runtime.cli import main\nsys.exit(main())\n",
  );
  await makeFolders(folder);
  for (const name of ["tesseract/input_data", "tesseract/output_data", "home/tesseract-user"]) {
    await mkdir(join(folder, name), { recursive: true });
  }
  // The image's own user may write here too.
  for (const name of ["tesseract/output_data", "tmp"]) await chmod(join(folder, name), 0o777);
  for (const [name, from] of Object.entries(tesseracts)) {
    await mkdir(dirname(join(folder, "tesseract", name)), { recursive: true });
    await copyFile(join(root, from), join(folder, "tesseract", name));
  }
}

/** What every program expects to be there. */
async function makeFolders(folder) {
  for (const name of ["tmp", "etc", "proc", "dev", "sys", "run"]) await mkdir(join(folder, name), { recursive: true });
}

async function copyTree(from, to, wanted) {
  await mkdir(dirname(to), { recursive: true });
  await cp(from, to, { recursive: true, dereference: true, filter: (path) => path === from || wanted(basename(path)) });
}

async function sharedLibraries(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.so(\.|$)/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

/** Copies the libraries that these programs and libraries need, by the names that they are asked for by. */
async function copyLibraries(files, folder) {
  const { status, output } = await run("ldd", files);
  // It ends with 1 where one of many isn't dynamic.
  if (status === 127) throw new SetupError(`ldd is missing: ${output}`);
  const found = new Set([...output.matchAll(/(?:=>\s*|^\s+)(\/\S+)\s+\(0x/gm)].map(([, path]) => path));
  for (const path of found) {
    if (path.startsWith(folder)) continue;
    const to = join(folder, path);
    if (existsSync(to)) continue;
    await mkdir(dirname(to), { recursive: true });
    await copyFile(await realpath(path), to);
  }
}
