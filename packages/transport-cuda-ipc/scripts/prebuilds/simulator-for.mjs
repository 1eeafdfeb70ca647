// The CUDA simulator's libraries for a target: this machine's own, or built by the same compiler as the target's addon.

import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { childEnvironment, mustRun } from "../../../../scripts/setup/child.mjs";
import { hashOf, hashOfFiles, read, remove, writeWhole } from "../../../../scripts/setup/fingerprint.mjs";
import { cache, root } from "../../../../scripts/setup/paths.mjs";
import { step } from "../../../../scripts/setup/progress.mjs";
import { isOwn } from "./targets.mjs";
import { compiler, installZig, ZIG } from "./zig.mjs";

const simulator = join(root, "packages", "cuda-simulator");
const native = join(simulator, "native");
const ownBuild = join(native, "build");

/** Compilers at once. */
const JOBS = 4;

/**
 * The folder with `libcuda.so.1` for a target, as CUDA_SIMULATOR_LIBRARIES names it. It is made if it isn't there.
 *
 * @param {import("./targets.mjs").Target} target
 */
export async function simulatorFor(target) {
  if (isOwn(target)) return ownLibraries();
  const folder = join(cache, "simulators", target.name);
  const libraries = join(folder, "lib");
  const made = hashOf(hashOfFiles(native, ["CMakeLists.txt", "src"]), target.triple, ZIG);
  const stamp = join(folder, "stamp");
  if (read(stamp) !== made || !existsSync(join(libraries, "libcuda.so.1"))) await build(target, folder, stamp, made);
  await linkStatusProgram(folder);
  return libraries;
}

async function build(target, folder, stamp, made) {
  await installZig();
  const env = { ...childEnvironment(), CXX: compiler("c++", target) };
  await step(`CUDA simulator for ${target.name}`, async () => {
    remove(folder);
    mkdirSync(folder, { recursive: true });
    await mustRun("cmake", ["-S", native, "-B", folder, "-DBUILD_TESTING=OFF", ...definitionsFor(target)], { env });
    const jobs = ["--parallel", String(JOBS)];
    await mustRun("cmake", ["--build", folder, ...jobs, "--target", "cuda", "cudart"], { env });
    writeWhole(stamp, made);
  });
}

/**
 * What CMake would find out by linking programs. Zig makes its C++ library for each kind of linking (optimized, stripped,
 * position-independent), which takes minutes: with these there is one kind, the addon's.
 */
function definitionsFor({ machine }) {
  const definitions = {
    CMAKE_SYSTEM_NAME: "Linux",
    CMAKE_SYSTEM_PROCESSOR: machine,
    CMAKE_CXX_COMPILER_ID_RUN: "ON",
    CMAKE_CXX_COMPILER_ID: "Clang",
    CMAKE_CXX_COMPILER_VERSION: "20.1",
    CMAKE_CXX_COMPILER_FORCED: "ON",
    CMAKE_CXX_STANDARD_COMPUTED_DEFAULT: "17",
    CMAKE_CXX_EXTENSIONS_COMPUTED_DEFAULT: "ON",
    CMAKE_HAVE_LIBC_PTHREAD: "ON",
    CMAKE_SHARED_LINKER_FLAGS: "-s",
  };
  return Object.entries(definitions).map(([name, value]) => `-D${name}=${value}`);
}

/** The program that looks at a machine from outside runs on this one, whatever the libraries are for. */
async function linkStatusProgram(folder) {
  await ownLibraries();
  remove(join(folder, "bin"));
  symlinkSync(join(ownBuild, "bin"), join(folder, "bin"));
}

async function ownLibraries() {
  const libraries = join(ownBuild, "lib");
  if (!existsSync(join(libraries, "libcuda.so.1"))) {
    const command = ["run", "build:native", "--silent", "-w", "packages/cuda-simulator"];
    await step("CUDA simulator for this machine", () => mustRun("npm", command, { cwd: root }));
  }
  return libraries;
}
