import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { buildNative } from "../../src/native/build.js";
import { libraryFolder } from "../../src/native/libraries.js";
import { packageVersion } from "../../src/native/package-root.js";
import { simulatorError, temporaryFolder } from "../support.js";

afterEach(() => vi.unstubAllEnvs());
const folder = temporaryFolder();

describe("the libraries", () => {
  test("are for Linux", () => {
    expect(() => libraryFolder("darwin")).toThrow(simulatorError("UNSUPPORTED_PLATFORM", "darwin"));
  });

  test("may be another build's, which has to be there", () => {
    vi.stubEnv("CUDA_SIMULATOR_LIBRARIES", folder);
    expect(() => libraryFolder("linux")).toThrow(simulatorError("NOT_BUILT", folder, "libcuda.so.1"));
    writeFileSync(join(folder, "libcuda.so.1"), "");
    expect(libraryFolder("linux")).toBe(folder);
  });

  test("have this package's version", () => {
    expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
  });
});

/** A PATH with programs that do what the script says. */
function pathWith(name: string, programs: Readonly<Record<string, string>>): { PATH: string } {
  const place = join(folder, name);
  mkdirSync(place);
  for (const [program, script] of Object.entries(programs)) {
    writeFileSync(join(place, program), `#!/bin/sh\n${script}\n`);
    chmodSync(join(place, program), 0o755);
  }
  return { PATH: place };
}

describe("building them", () => {
  test.each([
    ["neither", {}, "cmake and a C++ compiler (c++, g++, clang++), which aren't installed"],
    ["no compiler", { cmake: "exit 0" }, "a C++ compiler (c++, g++, clang++), which isn't installed"],
    ["no cmake", { "g++": "exit 0" }, "cmake, which isn't installed"],
  ])("with %s says in one line what to install", async (name, programs: Readonly<Record<string, string>>, message) => {
    const error: unknown = await buildNative({ env: pathWith(name, programs) }).catch((caught: unknown) => caught);
    expect(error).toEqual(simulatorError("TOOL_MISSING", message));
    expect(error).toHaveProperty("hint", expect.stringContaining("apt install cmake g++"));
  });

  test("may be with a compiler that has options, and of the rules alone", async () => {
    const env = { ...pathWith("zig", { cmake: 'echo "$CXX: $@"', python3: "exit 0" }), CXX: "python3 -m ziglang c++" };
    const printed: string[] = [];
    const built = await buildNative({ rules: true, env, onOutput: (text) => printed.push(text) });
    expect(built).toMatch(/native\/build\/rules\/bin\/rules$/);
    const [configuring = "", building = ""] = printed.join("").split("\n");
    expect(configuring).toMatch(
      /^python3 -m ziglang c\+\+: -S \S+native -B \S+native\/build\/rules -DBUILD_TESTING=ON$/,
    );
    expect(building).toMatch(/--build \S+native\/build\/rules .*--target rules$/);
  });

  test("tells how a build that failed ended", async () => {
    const env = pathWith("failing", { cmake: 'echo "call.cpp:5: error: no" >&2; exit 2', "c++": "exit 0" });
    const printed: string[] = [];
    const build = buildNative({ env, onOutput: (text) => printed.push(text) });
    await expect(build).rejects.toEqual(simulatorError("BUILD_FAILED", "cmake exited with 2", "call.cpp:5: error: no"));
    expect(printed.join("")).toContain("call.cpp:5");
  });
});
