/** `npm run test:gpu`, and the program of a bundle. */
import { writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { HELP, type Options, readOptions, UsageError } from "./options.js";
import type { Finding, Results } from "./results.js";
import { exitCodeOf, runSuite } from "./suite.js";
import { tableOf } from "./table.js";

const say = (line: string): void => {
  process.stderr.write(`${line.trimEnd()}\n`);
};

/** A Python is passed on by a variable, since the process that needs it is another one. */
const withPython = (options: Options): NodeJS.ProcessEnv =>
  options.python === undefined ? {} : { TESSERACT_GPU_PYTHON: options.python };

function onDriver(options: Options): Promise<Results> {
  const { driver } = options;
  const libraries = driver?.includes("/") === true ? [dirname(driver)] : [];
  const path = [...libraries, process.env.LD_LIBRARY_PATH ?? ""].filter((folder) => folder !== "").join(":");
  const env = {
    ...process.env,
    ...withPython(options),
    ...(driver === undefined ? {} : { TESSERACT_CUDA_DRIVER: driver }),
    // The reference finds a driver by its name only.
    ...(path === "" ? {} : { LD_LIBRARY_PATH: path }),
  };
  return runSuite({ ...options, env, onProgress: say });
}

/** The simulator is needed here only: a bundle doesn't have it. */
async function onSimulator(options: Options): Promise<Results> {
  const { libraryFolder, simulatedCuda } = await import("@tesseract-ts/cuda-simulator").catch((error: unknown) => {
    if ((error as { code?: string }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new UsageError("The simulator isn't here: a bundle is for a real driver.");
  });
  await using cuda = await simulatedCuda({ devices: 2, memory: "512MiB" });
  const env: NodeJS.ProcessEnv = { ...process.env, ...cuda.env, ...withPython(options) };
  delete env.TESSERACT_CUDA_DRIVER;
  const results = await runSuite({ ...options, driver: `${libraryFolder()}/libcuda.so.1`, env, onProgress: say });
  const hazards = cuda.trace.hazards.map(({ what }) => what);
  const finding: Finding = {
    group: "simulator",
    name: "nothing happened that CUDA leaves undefined",
    status: hazards.length === 0 ? "passed" : "failed",
    detail: hazards.length === 0 ? `${cuda.trace.calls.length} calls` : hazards.join("; "),
    milliseconds: 0,
  };
  return { ...results, findings: [...results.findings, finding] };
}

try {
  const options = readOptions(process.argv.slice(2));
  if (options === undefined) process.stdout.write(HELP);
  else {
    const results = options.simulated ? await onSimulator(options) : await onDriver(options);
    const table = tableOf(results);
    if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify(results, null, 2)}\n`);
    if (options.markdown !== undefined) writeFileSync(options.markdown, table);
    process.stdout.write(table);
    process.exitCode = exitCodeOf(results);
  }
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  say(error.message);
  say("--help shows the options.");
  process.exitCode = 2;
}
