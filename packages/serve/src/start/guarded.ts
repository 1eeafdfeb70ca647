/** Processes that end with this one: each is started and ended by a guard, a small process in between. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import { guardEntry } from "../entries.js";
import type { FromGuard, ToGuard } from "./guard-messages.js";
import { type LineLog, readLines } from "./line-log.js";
import type { Command } from "./start-server.js";
import type { ProcessEnd } from "./started.js";

export interface GuardOptions {
  /** Made at first (mode 0700), removed at the end. */
  readonly folders: readonly string[];
  /** Run at the end. */
  readonly cleanup: readonly Command[];
  readonly log: LineLog;
  /** Told what a process writes to descriptor 4. */
  readonly onReport?: (line: string) => void;
}

export interface RunOptions {
  /** Whether what the process writes to descriptor 4 is for `onReport`. */
  readonly reports?: boolean;
  /** Ends it in the place of signals, as a `ServerLaunch` has it. */
  readonly end?: Command | undefined;
}

export interface GuardedProcess {
  /** Of the process, and of its group. */
  readonly pid: number;
  /** Resolves when it has ended, and all that it printed has been read. */
  readonly ended: Promise<ProcessEnd>;
}

/** Variables that would change the guard itself. */
const notForTheGuard = new Set([
  "NODE_OPTIONS",
  "NODE_CHANNEL_FD",
  "NODE_UNIQUE_ID",
  "LD_PRELOAD",
  "DYLD_INSERT_LIBRARIES",
]);

/**
 * Ends what it runs, and removes what was made for it, when it is closed or this process ends in whatever way: it sees the end of
 * a pipe that only this process holds open.
 */
export class Guard {
  /** The process that was run last, while it runs. */
  private running: number | undefined;
  private onEnd: (end: ProcessEnd) => void = () => {};
  private answer: { resolve(message: FromGuard): void; reject(reason: unknown): void } | undefined;
  private readonly gone: Promise<void>;
  private isGone = false;
  private isClosing = false;
  private received = 0;
  /** Whether the folders were made by the guard, and aren't to stay. */
  private ownsFolders = false;
  private ended: Promise<unknown> | undefined;

  private constructor(
    private readonly child: ChildProcess,
    private readonly options: GuardOptions,
  ) {
    const count = (): void => {
      this.received += 1;
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", count);
      readLines(stream as Readable, (line) => options.log.add(line));
    }
    readLines(this.stream(3), (line) => this.hear(JSON.parse(line) as FromGuard));
    this.stream(4).on("data", count);
    readLines(this.stream(4), (line) => options.onReport?.(line));
    // A guard that was killed isn't there to be told.
    (child.stdin as unknown as Socket | null)?.on("error", () => {});
    this.gone = new Promise((resolve) => {
      const end = (): void => {
        this.isGone = true;
        void this.afterGuard().then(resolve);
      };
      child.once("exit", end);
    });
  }

  /** @throws TesseractError START_FAILED */
  static async open(options: GuardOptions): Promise<Guard> {
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !notForTheGuard.has(name)));
    let child: ChildProcess;
    try {
      child = spawn(process.execPath, [fileURLToPath(guardEntry())], {
        stdio: ["pipe", "pipe", "pipe", "pipe", "pipe"],
        env,
        // Ctrl-C reaches all processes of a terminal's group, and how this one ends is ours to say.
        detached: true,
      });
      if (child.pid === undefined) await once(child, "spawn");
    } catch (error) {
      throw startFailed(error instanceof Error ? error.message : String(error), error);
    }
    const guard = new Guard(child, options);
    try {
      await guard.ask({ kind: "own", folders: options.folders, cleanup: options.cleanup });
    } catch (error) {
      await guard.close();
      throw error;
    }
    return guard;
  }

  /**
   * Runs a program, after the one before has ended.
   *
   * @returns its process id, and how it ends, once all that it printed has been read
   * @throws TesseractError START_FAILED
   */
  async run(command: Command, { reports = false, end }: RunOptions = {}): Promise<GuardedProcess> {
    // Before it is answered: the news of its start and of its end may come at once.
    const ended = new Promise<ProcessEnd>((resolve) => {
      this.onEnd = resolve;
    });
    const message = await this.ask({ kind: "run", ...command, reports, end });
    if (message.kind !== "started") throw startFailed(`the guard said "${message.kind}"`);
    this.ended = ended;
    return { pid: message.pid, ended };
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    await this.ended;
  }

  /** SIGTERM for the process's group, and SIGKILL after so many milliseconds; or what it is run with to end it. */
  stop(limit: number): void {
    this.say({ kind: "stop", limit });
  }

  /** The folders aren't removed. */
  keep(): void {
    this.ownsFolders = false;
    this.say({ kind: "keep" });
  }

  /** Whether this process stays alive for the sake of the guard. */
  set holdsProcess(hold: boolean) {
    for (const handle of [this.child, ...(this.child.stdio as (Socket | null)[])]) {
      if (hold) handle?.ref();
      else handle?.unref();
    }
  }

  /** Ends what runs, and undoes what was made. May be called again. */
  async close(): Promise<void> {
    this.isClosing = true;
    this.holdsProcess = true;
    this.child.stdin?.end();
    await this.gone;
  }

  private stream(fd: 3 | 4): Readable {
    return this.child.stdio[fd] as Readable;
  }

  private say(message: ToGuard): void {
    if (!this.isGone && this.child.stdin?.writable) this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  private ask(message: ToGuard): Promise<FromGuard> {
    return new Promise((resolve, reject) => {
      this.answer = { resolve, reject };
      if (this.isGone) reject(startFailed("its guard has ended"));
      else this.say(message);
    });
  }

  private hear(message: FromGuard): void {
    switch (message.kind) {
      case "owned":
        this.ownsFolders = true;
        this.answer?.resolve(message);
        break;
      case "started":
        this.running = message.pid;
        this.answer?.resolve(message);
        break;
      case "failed":
        this.answer?.reject(startFailed(message.message));
        break;
      case "exited":
        void this.end(endOf(message));
        break;
      case "left":
        process.emitWarning(`Something of a Tesseract that was started is left: ${message.message}`);
        break;
    }
  }

  private async end(end: ProcessEnd): Promise<void> {
    const { onEnd } = this;
    this.running = undefined;
    await this.drained();
    onEnd(end);
  }

  /** What a process printed before it ended is in the pipes by now: each turn of the loop reads what is there. */
  private async drained(): Promise<void> {
    for (let before = -1; before !== this.received; ) {
      before = this.received;
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** It has ended. If it was killed, what it was there for is done here. */
  private async afterGuard(): Promise<void> {
    // It prints only what it ends of.
    await this.drained();
    const { end: log } = this.options.log;
    this.answer?.reject(new TesseractError("START_FAILED", "A process can't be started: its guard ended", { log }));
    if (this.running !== undefined || !this.isClosing) {
      this.lose();
      await this.undo();
    }
    for (const stream of this.child.stdio) stream?.destroy();
  }

  private lose(): void {
    const { running } = this;
    if (running === undefined) return;
    try {
      process.kill(-running, "SIGKILL");
    } catch {
      // It has ended with its guard.
    }
    void this.end({ kind: "lost" });
  }

  private async undo(): Promise<void> {
    for (const { command, args, env } of this.options.cleanup) {
      const cleaner = spawn(command, [...args], { env: { ...env }, stdio: "ignore" });
      await new Promise<void>((resolve) => {
        cleaner.once("exit", () => resolve());
        cleaner.once("error", () => resolve());
      });
    }
    if (!this.ownsFolders) return;
    for (const folder of [...this.options.folders].reverse()) {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    }
  }
}

const startFailed = (reason: string, cause?: unknown): TesseractError =>
  new TesseractError("START_FAILED", `A process can't be started: ${reason}`, { cause });

function endOf({ code, signal }: Extract<FromGuard, { kind: "exited" }>): ProcessEnd {
  if (signal !== null) return { kind: "killed", signal };
  return code === null ? { kind: "lost" } : { kind: "exited", code };
}
