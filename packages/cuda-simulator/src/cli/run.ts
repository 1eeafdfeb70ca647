/** `cuda-simulator run`: in place of the program, as far as anyone outside can tell. */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { CudaSimulatorError, reasonOf } from "../errors.js";
import { removeFilesOf } from "../machine/shared-memory.js";
import { aliveProcesses } from "../machine/status.js";
import { libraryFolder } from "../native/libraries.js";
import { endingLines } from "../report/table.js";
import { libraryPath, VARIABLES, variablesOf } from "../settings/settings.js";
import { readTrace } from "../trace/read.js";
import { parseTraceLine } from "../trace/record.js";
import { TraceSummary } from "../trace/summary.js";
import type { RunRequest } from "./command-line.js";

const PASSED_ON = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const;
const FROM_TERMINAL: ReadonlySet<string> = new Set(["SIGINT", "SIGQUIT"]);

/** @returns the program's exit status; if a signal ended it, this process ends by the same one */
export async function run(request: RunRequest): Promise<number> {
  const libraries = libraryFolder();
  const named = request.machine ?? (process.env[VARIABLES.machine] || undefined);
  const machine = named ?? `run-${process.pid}-${randomBytes(4).toString("hex")}`;
  const start = BigInt(Date.now()) * 1_000_000n;
  const scratch = mkdtempSync(join(tmpdir(), "cuda-simulator-"));
  try {
    const trace = traceOf(request, scratch);
    const env = {
      ...process.env,
      ...variablesOf(request.settings),
      [VARIABLES.machine]: machine,
      ...(trace !== undefined && { [VARIABLES.trace]: trace }),
      LD_LIBRARY_PATH: libraryPath(libraries, process.env.LD_LIBRARY_PATH),
    };
    const { code, signal } = await inPlace(request, env);
    if (named === undefined) await clearUp(libraries, machine);
    if (request.summary && trace !== undefined) await printSummary(trace, start);
    if (signal === null) return code;
    if (signal === "SIGUSR1") return 128 + constants.signals[signal]; // Node takes that one for the debugger's
    rmSync(scratch, { recursive: true, force: true });
    process.kill(process.pid, signal);
    return 128 + constants.signals[signal]; // a signal that doesn't end this process
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The file for the trace: what was asked for, or one of our own for the summary, or none. */
function traceOf({ trace, append, summary }: RunRequest, scratch: string): string | undefined {
  if (trace === undefined) {
    const outer = process.env[VARIABLES.trace];
    if (!summary) return undefined;
    return outer ? resolve(outer) : join(scratch, "trace.jsonl");
  }
  const file = resolve(trace);
  if (!append) checkReplaceable(file);
  try {
    writeFileSync(file, "", { flag: append ? "a" : "w" });
  } catch (error) {
    throw new CudaSimulatorError("WRITE_FAILED", `The trace can't be written: ${reasonOf(error)}`, { cause: error });
  }
  return file;
}

/** A trace may be replaced; any other file was hardly meant. */
function checkReplaceable(file: string): void {
  let start: string;
  try {
    const opened = openSync(file, "r");
    const bytes = Buffer.alloc(4096);
    start = bytes.toString("utf8", 0, readSync(opened, bytes));
    closeSync(opened);
  } catch {
    return; // not there; or the writing will say what is wrong with it
  }
  if (start === "") return;
  try {
    parseTraceLine(start.split("\n")[0] ?? "");
  } catch (error) {
    throw new CudaSimulatorError("USAGE", `--trace ${file}: the file is there and is no trace`, {
      hint: "Give another file, or remove it.",
      cause: error,
    });
  }
}

interface Ending {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

/** Runs the program with this process's input and output, and hands signals on. */
async function inPlace({ program, args }: RunRequest, env: NodeJS.ProcessEnv): Promise<Ending> {
  const child = spawn(program, args, { env, stdio: "inherit" });
  const passOn = (signal: NodeJS.Signals): void => {
    if (FROM_TERMINAL.has(signal) && inForeground()) return; // the terminal has sent it to the program as well
    child.kill(signal);
  };
  for (const signal of PASSED_ON) process.on(signal, passOn);
  try {
    return await new Promise((done, fail) => {
      child.once("exit", (code, signal) => done({ code: code ?? 0, signal }));
      child.once("error", (error) => fail(notStarted(program, error)));
    });
  } finally {
    for (const signal of PASSED_ON) process.off(signal, passOn);
  }
}

/** Whether a terminal sends its signals to this process's group (proc(5): fields 5 and 8 of stat). */
function inForeground(): boolean {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[2] === fields[5];
}

/** What killed programs left. Others that run on, in the background, take it along when they end. */
async function clearUp(libraries: string, machine: string): Promise<void> {
  if ((await aliveProcesses(libraries, machine)).length === 0) removeFilesOf(machine);
}

/** Hazards and leaks since this run began: the trace may have earlier ones. */
async function printSummary(trace: string, start: bigint): Promise<void> {
  const summary = new TraceSummary();
  try {
    for await (const record of readTrace(trace)) if (record.time >= start) summary.add(record);
  } catch (error) {
    // A program that never used CUDA has written none.
    if (!(error instanceof CudaSimulatorError && error.code === "TRACE_UNREADABLE")) throw error;
  }
  for (const line of endingLines(summary)) process.stderr.write(`cuda-simulator: ${line}\n`);
}

function notStarted(program: string, error: Error): CudaSimulatorError {
  return new CudaSimulatorError("SPAWN_FAILED", `${program} can't be started: ${reasonOf(error)}`, { cause: error });
}
