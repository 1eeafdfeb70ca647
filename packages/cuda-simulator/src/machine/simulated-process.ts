/** A program on a simulated machine, and whatever programs it starts in turn. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { CudaSimulatorError, type Output, reasonOf } from "../errors.js";

export interface StartOptions {
  readonly cwd?: string | undefined;
  /** Ends the program when it is aborted. */
  readonly signal?: AbortSignal | undefined;
  /** Ends the program when it has run this long, in milliseconds. */
  readonly timeout?: number | undefined;
  /** What the program reads from its standard input; it is empty if left out. */
  readonly input?: string | Uint8Array | undefined;
}

/** How a program ended: by itself, or by a signal. */
export interface Exit {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** How long a program that was asked to end (SIGTERM) may take before it is killed, in milliseconds. */
const GRACE = 2_000;

/** How long pipes that someone else still holds are read after the program has ended, in milliseconds. */
const DRAIN = 1_000;

/** The longest delay of `setTimeout`; a longer one would fire at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

export class SimulatedProcess implements AsyncDisposable {
  /**
   * How it ended. Rejects with TIMEOUT or ABORTED if it was ended for that.
   */
  readonly exited: Promise<Exit>;
  private readonly stdout: Buffer[] = [];
  private readonly stderr: Buffer[] = [];
  private reason: CudaSimulatorError | undefined;
  private ended = false;

  private constructor(
    /** The process itself, with its streams. What it prints is kept in `output` as well. */
    readonly child: ChildProcess,
    readonly pid: number,
    private readonly name: string,
    options: StartOptions,
  ) {
    child.stdout?.on("data", (bytes: Buffer) => this.stdout.push(bytes));
    child.stderr?.on("data", (bytes: Buffer) => this.stderr.push(bytes));
    child.stdin?.on("error", () => {}); // it needn't read its input
    this.exited = this.watch(options);
    this.exited.catch(() => {}); // whoever waits for it gets it
  }

  /** @throws CudaSimulatorError SPAWN_FAILED, ABORTED, INVALID_OPTION */
  static async start(
    command: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
    options: StartOptions,
  ): Promise<SimulatedProcess> {
    const { cwd, signal, timeout, input } = options;
    if (timeout !== undefined && !(timeout > 0)) {
      throw new CudaSimulatorError("INVALID_OPTION", `A timeout of ${timeout} ms is none`, {
        hint: "Give a positive number of milliseconds, or leave it out to wait without limit.",
      });
    }
    if (signal?.aborted) {
      throw new CudaSimulatorError("ABORTED", `${command} was aborted before it started`, { cause: signal.reason });
    }
    // A process group of its own, so that what it starts ends with it.
    const how: SpawnOptions = { env, detached: true, stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"] };
    const child = spawn(command, args, cwd === undefined ? how : { ...how, cwd });
    const pid = child.pid;
    if (pid === undefined) {
      const error = await new Promise<Error>((known) => child.once("error", known));
      throw new CudaSimulatorError("SPAWN_FAILED", `${command} can't be started: ${reasonOf(error)}`, {
        hint: "Is it installed and on PATH, and does the folder `cwd` exist?",
        cause: error,
      });
    }
    const started = new SimulatedProcess(child, pid, command, options);
    if (input !== undefined) child.stdin?.end(input);
    return started;
  }

  /** What it has printed so far. */
  get output(): Output {
    return { stdout: Buffer.concat(this.stdout).toString(), stderr: Buffer.concat(this.stderr).toString() };
  }

  /** Whether it, or something that it started, still runs. */
  get isAlive(): boolean {
    return this.send(0);
  }

  /** Sends a signal to it and to what it started. False if they are gone. */
  kill(signal: NodeJS.Signals = "SIGTERM"): boolean {
    return this.send(signal);
  }

  /** Ends it, and what it started: asks first, and kills what hasn't gone in 2 s. */
  async end(): Promise<void> {
    this.kill("SIGTERM");
    const killing = setTimeout(() => this.kill("SIGKILL"), GRACE);
    await this.exited.catch(() => {});
    clearTimeout(killing);
    this.kill("SIGKILL"); // what outlived it in its group
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }

  private send(signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-this.pid, signal);
    } catch {
      return false;
    }
  }

  private async watch({ signal, timeout }: StartOptions): Promise<Exit> {
    const stop = (reason: CudaSimulatorError): void => {
      if (this.ended) return;
      this.reason ??= reason;
      void this.end();
    };
    const onAbort = (): void =>
      stop(new CudaSimulatorError("ABORTED", `${this.name} was aborted`, { cause: signal?.reason }));
    const timer =
      timeout === undefined || timeout > LONGEST_TIMEOUT
        ? undefined
        : setTimeout(
            () => stop(new CudaSimulatorError("TIMEOUT", `${this.name} ran longer than ${timeout} ms`)),
            timeout,
          );
    signal?.addEventListener("abort", onAbort, { once: true });
    const exit = await exitOf(this.child);
    this.ended = true;
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
    if (this.reason === undefined) return exit;
    const { code, message, cause } = this.reason;
    throw new CudaSimulatorError(code, message, { cause, output: this.output });
  }
}

/** Resolves when the process has ended and its output was read. */
function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((done) => {
    child.once("exit", (exitCode, signal) => {
      const exit = { exitCode, signal };
      const drained = setTimeout(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        done(exit);
      }, DRAIN);
      child.once("close", () => {
        clearTimeout(drained);
        done(exit);
      });
    });
  });
}
