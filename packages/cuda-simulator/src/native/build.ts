/** Builds the libraries with CMake. */
import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { CudaSimulatorError, reasonOf } from "../errors.js";
import { packageRoot } from "./package-root.js";

export interface BuildOptions {
  /** Also build the native tests. */
  readonly tests?: boolean | undefined;
  /** Build nothing but the program that checks the rules on any driver. */
  readonly rules?: boolean | undefined;
  /** Gets what CMake and the compiler print, as it comes. */
  readonly onOutput?: ((text: string) => void) | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** As much of a failed build's output as is worth repeating, in lines. */
const LAST_LINES = 30;

const INSTALL = "Install them: apt install cmake g++ (Debian, Ubuntu), dnf install cmake gcc-c++ (Fedora).";

/**
 * Builds the libraries into `native/build` and returns the folder that they are in then; with `rules`, the path of that
 * program, which has a folder of its own, since it may be built by another compiler. `CXX` names the compiler, with options.
 *
 * @throws CudaSimulatorError TOOL_MISSING, BUILD_FAILED
 */
export async function buildNative(options: BuildOptions = {}): Promise<string> {
  const { tests = false, rules = false, onOutput, env = process.env } = options;
  checkTools(env);
  const source = join(packageRoot(), "native");
  const build = join(source, rules ? "build/rules" : "build");
  const run = (args: readonly string[]): Promise<void> => runCmake(args, env, onOutput);
  await run(["-S", source, "-B", build, `-DBUILD_TESTING=${tests || rules ? "ON" : "OFF"}`]);
  const target = rules ? ["--target", "rules"] : [];
  await run(["--build", build, "--parallel", String(availableParallelism()), ...target]);
  return join(build, rules ? "bin/rules" : "lib");
}

function checkTools(env: NodeJS.ProcessEnv): void {
  const compilers = env.CXX ? env.CXX.split(" ", 1) : ["c++", "g++", "clang++"];
  const missing = [
    ...(isInstalled("cmake", env) ? [] : ["cmake"]),
    ...(compilers.some((name) => isInstalled(name, env)) ? [] : [`a C++ compiler (${compilers.join(", ")})`]),
  ];
  if (missing.length === 0) return;
  const message = `Building the simulator needs ${missing.join(" and ")}, which ${missing.length > 1 ? "aren't" : "isn't"} installed`;
  throw new CudaSimulatorError("TOOL_MISSING", message, { hint: INSTALL });
}

function isInstalled(program: string, env: NodeJS.ProcessEnv): boolean {
  const places = program.includes("/") ? [""] : (env.PATH ?? "").split(delimiter).filter((place) => place !== "");
  return places.some((place) => {
    try {
      accessSync(join(place, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function runCmake(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  onOutput: ((text: string) => void) | undefined,
): Promise<void> {
  return new Promise((done, fail) => {
    const cmake = spawn("cmake", args, { env, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [cmake.stdout, cmake.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-65_536);
        onOutput?.(text);
      });
    }
    const failed = (how: string, cause?: unknown): void => {
      const end = said.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
      fail(new CudaSimulatorError("BUILD_FAILED", `The simulator's build failed (${how}):\n${end}`, { cause }));
    };
    cmake.on("error", (error) => failed(reasonOf(error), error));
    cmake.on("close", (code, signal) => {
      if (code === 0) done();
      else failed(code === null ? `cmake was ended by ${signal}` : `cmake exited with ${code}`);
    });
  });
}
