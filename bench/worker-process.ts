/** A worker of the benchmark, in a process of its own: one JSON command in, one JSON result out. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

export class WorkerProcess implements AsyncDisposable {
  private readonly lines: AsyncIterator<string>;
  private readonly child: ChildProcess;

  constructor(command: string, args: readonly string[]) {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.child = child;
    this.lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** The next line that the process prints by itself. */
  async line(): Promise<string> {
    const { value, done } = await this.lines.next();
    if (done) throw new Error("A worker of the benchmark ended early");
    return value;
  }

  async do<T>(name: string, options: object = {}): Promise<T> {
    this.child.stdin?.write(`${JSON.stringify({ do: name, ...options })}\n`);
    return JSON.parse(await this.line());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.stdin?.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), 5_000);
    if (this.child.exitCode === null) await ended;
    clearTimeout(timer);
  }
}
