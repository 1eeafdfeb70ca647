/** Another process of the suite that offers operations: one that dies, or hangs, takes nothing else with it. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What a process offers, by name. */
// biome-ignore lint/complexity/noBannedTypes: the arguments are each operation's own
export type Operations = { readonly [Name: string]: Function };

interface Call {
  readonly id: number;
  readonly operation: string;
  readonly args: readonly unknown[];
}
type Answer =
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: { readonly message: string; readonly skipped: boolean } };
interface Note {
  readonly note: unknown;
}

/** Thrown by what can't be done here: the message is the reason. */
export class Skipped extends Error {}

/** In the process itself: offers operations until whoever started it is gone. */
export function offer(operations: Operations): void {
  process.on("message", async ({ id, operation, args }: Call) => {
    process.send?.(await answer(id, () => operations[operation]?.(...args)));
  });
  // Without whoever started it there is nothing left to do; the driver takes back the memory.
  process.on("disconnect", () => process.exit());
}

/** In the process itself: tells whoever started it something. */
export const tell = (note: unknown): void => {
  process.send?.({ note } satisfies Note);
};

async function answer(id: number, work: () => unknown): Promise<Answer> {
  try {
    return { id, result: await work() };
  } catch (error) {
    return { id, error: { message: messageOf(error), skipped: error instanceof Skipped } };
  }
}

/** With what to do next, where the error has it. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, hint } = error as { code?: unknown; hint?: unknown };
  return [typeof code === "string" ? `${code}: ` : "", error.message, typeof hint === "string" ? ` ${hint}` : ""].join(
    "",
  );
}

export interface RemoteOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly onNote?: (note: unknown) => void;
}

/** The last lines that a process printed, for when it dies. */
const LAST_LETTERS = 2_000;

/** A process with the operations `O`, from the other side. */
export class Remote<O extends Operations> {
  private next = 0;
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private ended: string | undefined;
  private said = "";
  private readonly exited: Promise<void>;

  private constructor(
    private readonly child: ChildProcess,
    { onNote }: RemoteOptions,
  ) {
    child.on("message", (message: Answer | Note) => {
      if ("note" in message) onNote?.(message.note);
      else this.settle(message);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.said = (this.said + text).slice(-LAST_LETTERS);
    });
    this.exited = new Promise((resolve) => {
      const end = (how: string): void => {
        this.ended ??= how;
        for (const { reject } of this.waiting.values()) reject(this.deathOf());
        this.waiting.clear();
        resolve();
      };
      child.once("error", (error) => end(error.message));
      child.once("close", (code, signal) => end(signal === null ? `it exited with ${code}` : `${signal} ended it`));
    });
  }

  /** @param program of this folder, such as `peer.js` */
  static start<O extends Operations>(program: string, options: RemoteOptions): Remote<O> {
    const child = fork(fileURLToPath(new URL(program, import.meta.url)), {
      execArgv: [],
      env: options.env,
      serialization: "advanced",
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    return new Remote(child, options);
  }

  get isAlive(): boolean {
    return this.ended === undefined;
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  call<K extends keyof O & string>(
    operation: K,
    ...args: O[K] extends (...args: infer A) => unknown ? A : never
  ): Promise<O[K] extends (...args: infer _) => infer R ? Awaited<R> : never> {
    return new Promise((resolve, reject) => {
      if (!this.isAlive) return reject(this.deathOf());
      const id = this.next++;
      this.waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.child.send({ id, operation, args } satisfies Call);
    });
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }

  private settle(answer: Answer): void {
    const waiting = this.waiting.get(answer.id);
    this.waiting.delete(answer.id);
    if ("result" in answer) waiting?.resolve(answer.result);
    else waiting?.reject(answer.error.skipped ? new Skipped(answer.error.message) : new Error(answer.error.message));
  }

  private deathOf(): Error {
    const last = this.said.trim().split("\n").slice(-4).join(" | ");
    return new Error(`The process is gone: ${this.ended}${last === "" ? "" : `. It said: ${last}`}`);
  }
}
