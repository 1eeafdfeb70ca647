// What the tests share: the built libraries and command if they are there, and lines of a trace.

import { type SpawnOptionsWithoutStdio, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { CudaSimulatorError, type ErrorCode } from "../src/errors.js";
import { libraryFolder } from "../src/native/libraries.js";
import { packageRoot } from "../src/native/package-root.js";

export const root = packageRoot();
export const builtCommand = join(root, "dist/cli/main.js");

export function missingLibraries(): string | undefined {
  try {
    libraryFolder();
    return undefined;
  } catch (error) {
    return error instanceof CudaSimulatorError ? `${error.message}. ${error.hint}` : String(error);
  }
}

function missingCommand(): string | undefined {
  if (!existsSync(builtCommand)) return "The command isn't built: npm run build";
  const newest = Math.max(...readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" }).map(modified));
  return newest > statSync(builtCommand).mtimeMs
    ? "The command was built from older sources: npm run build"
    : undefined;
}

const modified = (file: string): number => statSync(join(root, "src", file)).mtimeMs;

/** A `describe` for what needs something that has to be built. Without it one test tells why; in CI it fails. */
export function describeWith(missing: string | undefined, name: string, tests: () => void): void {
  describe(name, () => {
    if (missing === undefined) return tests();
    test("needs something that isn't built", (context) => {
      if (process.env.CI) throw new Error(missing);
      context.skip(missing);
    });
  });
}

export const describeWithLibraries = (name: string, tests: () => void): void =>
  describeWith(missingLibraries(), name, tests);

export const describeWithCommand = (name: string, tests: () => void): void =>
  describeWith(missingCommand(), name, tests);

export const describeWithBoth = (name: string, tests: () => void): void =>
  describeWith(missingLibraries() ?? missingCommand(), name, tests);

/** A folder for the tests of a file. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cuda-simulator-test-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs while the test goes on. */
export function start(program: string, args: readonly string[], options: SpawnOptionsWithoutStdio = {}) {
  const child = spawn(program, args, options);
  const printed = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    printed.stderr += text;
  });
  const ended = new Promise<Ended>((done) => child.on("close", (code, signal) => done({ code, signal, ...printed })));
  return { child, printed, ended };
}

/** The built command. */
export const cli = (args: readonly string[], options: SpawnOptionsWithoutStdio = {}): Promise<Ended> =>
  start(process.execPath, [builtCommand, ...args], options).ended;

/** Matches a CudaSimulatorError with this code, and with a message that has all of `words` in it. */
export const simulatorError = (code: ErrorCode, ...words: readonly string[]): unknown =>
  expect.toSatisfy(
    (error: unknown) =>
      error instanceof CudaSimulatorError && error.code === code && words.every((word) => error.message.includes(word)),
    `a CudaSimulatorError ${[code, ...words].join(", ")}`,
  );

/** A line of a trace, as the simulator writes it. */
export const line = (type: string, members: Readonly<Record<string, unknown>> = {}): string => {
  const { time = "1795994649190159173", ...rest } = members;
  const others = JSON.stringify({ pid: 10, tid: 11, ...rest }).slice(1);
  return `{"type":"${type}","time":${String(time)},${others}`;
};

export const call = (name: string, members: Readonly<Record<string, unknown>> = {}): string =>
  line("call", { library: name.startsWith("cuda") ? "runtime" : "driver", function: name, result: 0, ...members });

/** Allocates, copies, and gives back what `free` says; prints what each call returned. */
export const pythonCopies = ({ free = true } = {}): string => `
import ctypes
cuda = ctypes.CDLL("libcudart.so.12")
pointer, host = ctypes.c_void_p(), ctypes.create_string_buffer(1 << 16)
print(cuda.cudaMalloc(ctypes.byref(pointer), 1 << 16), flush=True)
print(cuda.cudaMemcpy(pointer, host, 1 << 16, 1))
print(cuda.cudaMemcpy(host, pointer, 1000, 2))
${free ? "print(cuda.cudaFree(pointer))" : ""}
`;
