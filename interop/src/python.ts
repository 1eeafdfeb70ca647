// The Python environments that hold the reference runtime, one for each version the tests run against.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

export type RuntimeVersion = "1.15" | "1.13" | "1.12";

export const runtimeVersions: readonly RuntimeVersion[] = ["1.15", "1.13", "1.12"];

/** The repository's root, with a slash at its end. */
export const repositoryRoot = fileURLToPath(new URL("../../", import.meta.url));

const environmentName = (version: RuntimeVersion): string => (version === "1.15" ? ".venv" : `.venv-${version}`);

const pythonPath = (version: RuntimeVersion): string => `${repositoryRoot}${environmentName(version)}/bin/python`;

/** What is missing for this version and how to get it, or `undefined` when nothing is. */
export function missingRuntime(version: RuntimeVersion): string | undefined {
  if (existsSync(pythonPath(version))) return undefined;
  return `No Tesseract runtime ${version} in ${environmentName(version)}: \`npm test\` (or \`node scripts/setup.mjs\`) makes it.`;
}

/** The interpreter with this runtime version installed. Throws when there is none. */
export function findPython(version: RuntimeVersion = "1.15"): string {
  const missing = missingRuntime(version);
  if (missing !== undefined) throw new Error(missing);
  return pythonPath(version);
}

export interface PythonOptions {
  version?: RuntimeVersion;
  /** Added to this process's environment, without its `TESSERACT_*` variables. */
  env?: Readonly<Record<string, string>>;
  cwd?: string;
  /** In milliseconds; 60,000 unless told. */
  timeout?: number;
}

/** Runs a script with a runtime's interpreter and gives its standard output; an exit status but 0 is an error. */
export const runPython = (script: string, args: readonly string[] = [], options: PythonOptions = {}): Promise<string> =>
  runProgram(findPython(options.version), [script, ...args], options);

/** Runs a program, such as another interpreter, in the same way. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: Omit<PythonOptions, "version"> = {},
): Promise<string> {
  const child = spawn(command, [...args], {
    cwd: options.cwd ?? repositoryRoot,
    env: { ...environmentWithoutTesseract(), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: options.timeout ?? 60_000,
  });
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      if (code === 0) resolve(stdout);
      else reject(new Error(`${args[0]} ended with ${signal ?? `status ${code}`}:\n${stderr || stdout}`));
    });
  });
}

/** This process's environment, less what would configure a runtime by accident, and with no bytecode beside the fixtures. */
export function environmentWithoutTesseract(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("TESSERACT_"));
  return { ...Object.fromEntries(kept), PYTHONPYCACHEPREFIX: `${repositoryRoot}.cache/bytecode` };
}
