// A program of an example, run as a user runs it, in a process group of its own.

import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { repositoryRoot } from "../../src/python.js";

/** Milliseconds for what takes seconds on a machine that does nothing else. */
export const LOADED = 300_000;

export interface ProgramEnd {
  readonly status: number | NodeJS.Signals;
  /** All that it printed. */
  readonly output: string;
}

export class ExampleProgram implements AsyncDisposable {
  output = "";
  readonly ended: Promise<ProgramEnd>;
  readonly #child: ChildProcess;
  #heard: () => void = () => {};
  #running = true;

  /** @param program such as `worker-pool/main.ts` */
  constructor(program: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
    const file = join(repositoryRoot, "examples", program);
    this.#child = spawn(process.execPath, ["--import", "tsx", "--conditions=source", file, ...args], {
      cwd: repositoryRoot,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
        this.#heard();
      });
    }
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        this.#running = false;
        this.#heard();
        resolve({ status: signal ?? code ?? -1, output: this.output });
      });
    });
  }

  /** Waits until it has printed what fits. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.output);
      if (found !== null) return found;
      if (!this.#running) throw new Error(`It ended, and hadn't printed ${pattern}:\n${this.output}`);
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** As Ctrl-C in a terminal does it: all processes of its group are asked to end. */
  interrupt(signal: NodeJS.Signals = "SIGINT"): void {
    this.#signal(signal);
  }

  /** Whether it, or anything that it started in its group, is still there. */
  get isThere(): boolean {
    return this.#signal(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal("SIGKILL");
    await this.ended;
  }

  #signal(signal: NodeJS.Signals | 0): boolean {
    if (this.#child.pid === undefined) return false;
    try {
      return process.kill(-this.#child.pid, signal);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ESRCH") return false;
      throw error;
    }
  }
}

/** Runs one to its end. */
export async function runExample(
  program: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<ProgramEnd & { readonly isThere: () => boolean }> {
  await using running = new ExampleProgram(program, args, env);
  return { ...(await running.ended), isThere: () => running.isThere };
}

/** Whether a server answers at a URL. */
export const answers = (url: string): Promise<boolean> =>
  fetch(url).then(
    async (response) => {
      await response.arrayBuffer();
      return true;
    },
    () => false,
  );
