/** The built libraries: where they are, and what to do if they aren't. */
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CudaSimulatorError } from "../errors.js";
import { packageRoot } from "./package-root.js";

const DRIVER = "libcuda.so.1";

/** A folder to use instead, such as a build with a sanitizer. */
const OVERRIDE = "CUDA_SIMULATOR_LIBRARIES";

/**
 * The folder with `libcuda.so.1` and the `libcudart.so`s, for `LD_LIBRARY_PATH`: what was built here, else what came with
 * the package. The environment variable `CUDA_SIMULATOR_LIBRARIES` names another.
 *
 * @throws CudaSimulatorError UNSUPPORTED_PLATFORM, NOT_BUILT
 */
export function libraryFolder(platform: NodeJS.Platform = process.platform): string {
  if (platform !== "linux") {
    throw new CudaSimulatorError("UNSUPPORTED_PLATFORM", `The CUDA simulator runs on Linux, not on ${platform}`, {
      hint: "Run the tests in a Linux container or under WSL 2.",
    });
  }
  const override = process.env[OVERRIDE];
  if (override !== undefined && override !== "") {
    const folder = resolve(override);
    if (existsSync(join(folder, DRIVER))) return folder;
    throw new CudaSimulatorError("NOT_BUILT", `${OVERRIDE} is ${folder}, which has no ${DRIVER}`, {
      hint: `Name the folder that has ${DRIVER}, or unset it.`,
    });
  }
  const root = packageRoot();
  const found = [join(root, "native/build/lib"), join(root, "lib")].find((folder) => existsSync(join(folder, DRIVER)));
  if (found !== undefined) return found;
  throw new CudaSimulatorError("NOT_BUILT", `The simulator's libraries aren't built: ${root} has no ${DRIVER}`, {
    hint: "Run `npx cuda-simulator build` once (in this repository: npm run build:native); it needs cmake and g++.",
  });
}

/** The program that looks at a machine from outside; it is beside the libraries' folder. */
export const statusProgram = (libraries: string): string => join(dirname(libraries), "bin/cuda-simulator-status");
