/** A machine with simulated GPUs, for the time of a test. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CudaSimulatorError, type Output, reasonOf } from "../errors.js";
import { libraryFolder } from "../native/libraries.js";
import {
  libraryPath,
  type MachineSettings,
  type ProcessSettings,
  unsetVariables,
  VARIABLES,
  type Variables,
  variablesOf,
} from "../settings/settings.js";
import { GrowingTrace } from "../trace/read.js";
import { Trace } from "../trace/trace.js";
import { beforeExit } from "./last-resort.js";
import { filesOf, removeFilesOf } from "./shared-memory.js";
import { type Exit, SimulatedProcess, type StartOptions } from "./simulated-process.js";
import { aliveProcesses, type MachineStatus, readStatus } from "./status.js";

export interface SimulatedCudaOptions extends MachineSettings, ProcessSettings {
  /** Where the trace goes, to be kept; otherwise it is in a temporary folder and ends with the machine. */
  readonly traceFile?: string | undefined;
  /** Ends every program on the machine when it is aborted, unless the program has a signal of its own. */
  readonly signal?: AbortSignal | undefined;
  /** The longest time for every program that has no `timeout` of its own, in milliseconds. */
  readonly timeout?: number | undefined;
}

/** The machine's settings hold unless a program has its own. */
export interface RunOptions extends ProcessSettings, StartOptions {
  /** Added to this process's environment; `undefined` takes a variable out of it. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

export type RunResult = Exit & Output;

/** How long processes that were killed may take to be gone, in milliseconds. */
const GONE = 2_000;

/**
 * A machine of its own, which shares nothing with others.
 *
 * ```ts
 * await using cuda = await simulatedCuda({ devices: 2, memory: "1GiB" });
 * const { exitCode } = await cuda.run("python3", ["pipeline.py"]);
 * cuda.trace.copiesToHost; // 0
 * ```
 *
 * @throws CudaSimulatorError UNSUPPORTED_PLATFORM, NOT_BUILT, INVALID_OPTION, WRITE_FAILED
 */
export async function simulatedCuda(options: SimulatedCudaOptions = {}): Promise<SimulatedCuda> {
  return new SimulatedCuda(libraryFolder(), options);
}

export class SimulatedCuda implements AsyncDisposable {
  /** Its name, which `cuda-simulator status` shows. */
  readonly name = `test-${process.pid}-${randomBytes(4).toString("hex")}`;
  /**
   * The variables that put a program on this machine, to be merged into its environment. They also turn off every setting
   * of the simulator that this process's environment may have.
   */
  readonly env: Variables;
  private readonly folder: string;
  private readonly growing: GrowingTrace;
  /** With those that ended while something that they started lives on. */
  private readonly running = new Set<SimulatedProcess>();
  private readonly atExit: { cancel(): void };
  private disposing: Promise<void> | undefined;

  /** @internal */
  constructor(
    private readonly libraries: string,
    private readonly options: SimulatedCudaOptions,
  ) {
    const variables = variablesOf(options);
    this.folder = mkdtempSync(join(tmpdir(), "cuda-simulator-"));
    const traceFile = options.traceFile === undefined ? join(this.folder, "trace.jsonl") : resolve(options.traceFile);
    try {
      writeFileSync(traceFile, "");
    } catch (error) {
      rmSync(this.folder, { recursive: true, force: true });
      throw new CudaSimulatorError("WRITE_FAILED", `The trace can't be written: ${reasonOf(error)}`, { cause: error });
    }
    this.growing = new GrowingTrace(traceFile);
    this.env = {
      ...unsetVariables(options.devices),
      ...variables,
      [VARIABLES.machine]: this.name,
      [VARIABLES.trace]: traceFile,
      LD_LIBRARY_PATH: libraryPath(libraries, process.env.LD_LIBRARY_PATH),
    };
    this.atExit = beforeExit(() => {
      for (const program of this.running) program.kill("SIGKILL");
      removeFilesOf(this.name);
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /**
   * The environment of a program with settings of its own: on another simulated host, with other faults.
   *
   * @throws CudaSimulatorError INVALID_OPTION
   */
  envWith(settings: ProcessSettings): Variables {
    return { ...this.env, ...variablesOf(processSettings(settings)) };
  }

  /**
   * Runs a program to its end.
   *
   * @throws CudaSimulatorError SPAWN_FAILED, TIMEOUT, ABORTED, INVALID_OPTION, DISPOSED
   */
  async run(command: string, args: readonly string[] = [], options: RunOptions = {}): Promise<RunResult> {
    const program = await this.spawn(command, args, options);
    const exit = await program.exited;
    return { ...exit, ...program.output };
  }

  /**
   * Starts a program and returns when it runs. It ends with the machine at the latest.
   *
   * @throws CudaSimulatorError SPAWN_FAILED, ABORTED, INVALID_OPTION, DISPOSED
   */
  async spawn(command: string, args: readonly string[] = [], options: RunOptions = {}): Promise<SimulatedProcess> {
    this.checkUsable();
    const { signal = this.options.signal, timeout = this.options.timeout } = options;
    const own = this.envWith(options);
    const env = { ...process.env, ...own, ...options.env };
    // A library path of the caller's comes behind the simulator's, or the program might find another CUDA.
    const path = options.env?.LD_LIBRARY_PATH;
    if (path !== undefined) env.LD_LIBRARY_PATH = libraryPath(this.libraries, path);
    const program = await SimulatedProcess.start(command, args, env, { ...options, signal, timeout });
    this.running.add(program);
    const gone = (): void => {
      if (!program.isAlive) this.running.delete(program); // else something that it started lives on
    };
    program.exited.then(gone, gone);
    // Disposed of while it started.
    if (this.disposing !== undefined) await program.end();
    return program;
  }

  /**
   * The trace as it is now. It is read, as far as it is new, when this is.
   *
   * @throws CudaSimulatorError DISPOSED, TRACE_UNREADABLE, TRACE_MALFORMED
   */
  get trace(): Trace {
    this.checkUsable();
    return new Trace(this.growing.read());
  }

  /**
   * What the machine, or one of its simulated hosts, holds now.
   *
   * @throws CudaSimulatorError DISPOSED, STATUS_FAILED
   */
  async status({ host = this.options.host }: Pick<ProcessSettings, "host"> = {}): Promise<MachineStatus> {
    this.checkUsable();
    return readStatus(this.libraries, { machine: this.name, host });
  }

  /**
   * Ends what was started here, and sees to it that nothing of the machine stays in shared memory or in temporary folders.
   *
   * @throws CudaSimulatorError MACHINE_IN_USE, LEFT_BEHIND
   */
  dispose(): Promise<void> {
    this.disposing ??= this.end();
    return this.disposing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  private async end(): Promise<void> {
    try {
      await Promise.all([...this.running].map((program) => program.end()));
      await this.clearUp();
    } finally {
      this.atExit.cancel();
      rmSync(this.folder, { recursive: true, force: true });
    }
  }

  /** The last process that leaves on its own takes the files along; one that was killed leaves them to be removed here. */
  private async clearUp(): Promise<void> {
    const until = performance.now() + GONE;
    let alive = await aliveProcesses(this.libraries, this.name);
    while (alive.length > 0 && performance.now() < until) {
      await sleep(20);
      alive = await aliveProcesses(this.libraries, this.name);
    }
    if (alive.length > 0) {
      const who = `process${alive.length > 1 ? "es" : ""} ${alive.join(", ")}`;
      throw new CudaSimulatorError("MACHINE_IN_USE", `The machine ${this.name} is still used by ${who}`, {
        hint: "Programs started with `env` rather than with `run` or `spawn` must have ended before; end these.",
      });
    }
    removeFilesOf(this.name);
    const left = filesOf(this.name);
    if (left.length > 0) {
      throw new CudaSimulatorError("LEFT_BEHIND", `The machine ${this.name} left ${left.join(", ")} behind`, {
        hint: "A program joined it while it was disposed of; end the program and remove the files.",
      });
    }
  }

  private checkUsable(): void {
    if (this.disposing === undefined) return;
    throw new CudaSimulatorError("DISPOSED", `The machine ${this.name} was disposed of`, {
      hint: "Ask it before the end of the block of `await using`.",
    });
  }
}

/** Without the settings of the machine, which a program can't have otherwise. */
function processSettings(settings: ProcessSettings): ProcessSettings {
  const { delay, seed, strict, leaks, faults, host, pidNamespace, visibleDevices } = settings;
  return { delay, seed, strict, leaks, faults, host, pidNamespace, visibleDevices };
}
