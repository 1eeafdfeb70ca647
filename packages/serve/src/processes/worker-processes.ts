/**
 * Several processes that answer for one address. This process takes the connections and hands each to one of them; it
 * replaces those that die, and carries what they have to say to each other.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ErrorCode, TesseractError } from "@tesseract-ts/core";
import { processEntry } from "../entries.js";
import type { OperatorSettings } from "../operators/observer.js";
import { BACKLOG, cannotListen } from "../serve.js";
import type { Settings } from "../settings.js";
import type { FromWorker, Question, ToWorker } from "./messages.js";

/** Milliseconds before one is replaced that ended as soon as it had begun. */
const PATIENCE_MS = 1_000;
/** Milliseconds that a process has to end after its calls have, or have been aborted. */
const END_MS = 5_000;
/** Connections that wait for a process; more are closed. */
const MOST_WAITING = 1_000;

export interface WorkerProcessesOptions {
  readonly path: string;
  readonly transports: string | undefined;
  readonly count: number;
  readonly settings: Settings;
  readonly operators: OperatorSettings;
}

export class WorkerProcesses {
  private readonly workers = new Set<WorkerProcess>();
  private readonly waiting: Socket[] = [];
  private readonly questions = new Map<string, OpenQuestion>();
  private next = 0;
  private started = 0;
  private closing = false;

  private constructor(
    private readonly options: WorkerProcessesOptions,
    private readonly listener: Server,
  ) {}

  get port(): number {
    return (this.listener.address() as AddressInfo).port;
  }

  /** The processes' ids, in no order. */
  get pids(): readonly number[] {
    return [...this.workers].flatMap(({ child: { pid } }) => pid ?? []);
  }

  /** @throws TesseractError as a worker process does that can't begin; CONNECTION_FAILED */
  static async open(options: WorkerProcessesOptions): Promise<WorkerProcesses> {
    // Connections are paused: what they bring is for the process that they are handed to.
    const listener = createServer({ pauseOnConnect: true, noDelay: true });
    const processes = new WorkerProcesses(options, listener);
    listener.on("connection", (socket) => processes.hand(socket));
    try {
      const starts = Array.from({ length: options.count }, () => processes.start().ready);
      const failed = (await Promise.allSettled(starts)).find((start) => start.status === "rejected");
      if (failed !== undefined) throw failed.reason;
      const { host, port } = options.settings;
      listener.listen({ host, port, backlog: BACKLOG });
      await once(listener, "listening").catch((error) => {
        throw cannotListen(host, port, error);
      });
    } catch (error) {
      await processes.close();
      throw error;
    }
    return processes;
  }

  async close(): Promise<void> {
    this.closing = true;
    this.listener.close();
    for (const socket of this.waiting.splice(0)) socket.destroy();
    const limit = this.options.settings.shutdownLimit + END_MS;
    await Promise.all([...this.workers].map((worker) => worker.end(limit)));
  }

  private start(): WorkerProcess {
    this.started += 1;
    const worker: WorkerProcess = new WorkerProcess(
      `w${this.started}.`,
      this.options,
      (message) => this.onMessage(worker, message),
      (lifetime) => this.onExit(worker, lifetime),
      (sockets) => {
        for (const socket of sockets) this.hand(socket);
      },
    );
    this.workers.add(worker);
    worker.ready.then(
      () => {
        for (const socket of this.waiting.splice(0)) this.hand(socket);
      },
      () => {},
    );
    return worker;
  }

  private hand(socket: Socket): void {
    const ready = [...this.workers].filter(({ isReady }) => isReady);
    this.next += 1;
    const worker = ready[this.next % ready.length];
    if (worker !== undefined) worker.take(socket);
    else if (this.closing || this.waiting.length >= MOST_WAITING) socket.destroy();
    else this.waiting.push(socket);
  }

  private onExit(worker: WorkerProcess, lifetime: number): void {
    this.workers.delete(worker);
    for (const question of this.questions.values()) question.leave(worker);
    if (this.closing || !worker.wasReady) return;
    const delay = lifetime < PATIENCE_MS ? PATIENCE_MS : 0;
    setTimeout(() => this.replace(), delay).unref();
  }

  /** As long as it takes: what made one fail at its start may have passed. */
  private replace(): void {
    if (this.closing) return;
    this.start().ready.catch((error) => {
      if (this.closing) return;
      console.error(error);
      setTimeout(() => this.replace(), PATIENCE_MS).unref();
    });
  }

  private onMessage(worker: WorkerProcess, message: FromWorker): void {
    switch (message.kind) {
      case "ask":
        this.ask(worker, message.number, message.question);
        break;
      case "answer":
        this.questions.get(String(message.number))?.answer(worker, message.answer);
        break;
      case "notice":
        for (const other of this.others(worker)) other.say({ kind: "notice", notice: message.notice });
        break;
    }
  }

  private ask(asker: WorkerProcess, number: number, question: Question): void {
    const others = this.others(asker);
    this.next += 1;
    const own = this.next;
    const open = new OpenQuestion(new Set(others), (answers) => {
      this.questions.delete(String(own));
      asker.say({ kind: "answers", number, answers });
    });
    this.questions.set(String(own), open);
    for (const other of others) other.say({ kind: "question", number: own, question });
    open.settle();
  }

  private others(worker: WorkerProcess): readonly WorkerProcess[] {
    return [...this.workers].filter((other) => other !== worker && other.isReady);
  }
}

/** A question of one process to all others, those that die left out. */
class OpenQuestion {
  private readonly answers: unknown[] = [];
  private isSettled = false;

  constructor(
    private readonly asked: Set<WorkerProcess>,
    private readonly onAnswered: (answers: readonly unknown[]) => void,
  ) {}

  answer(worker: WorkerProcess, answer: unknown): void {
    if (this.asked.has(worker)) this.answers.push(answer);
    this.leave(worker);
  }

  leave(worker: WorkerProcess): void {
    this.asked.delete(worker);
    this.settle();
  }

  settle(): void {
    if (this.isSettled || this.asked.size > 0) return;
    this.isSettled = true;
    this.onAnswered(this.answers);
  }
}

/** Milliseconds that a channel has to be read to its end after its process. */
const CHANNEL_END_MS = 1_000;

class WorkerProcess {
  readonly child: ChildProcess;
  readonly ready: Promise<void>;
  isReady = false;
  wasReady = false;
  private readonly exited: Promise<unknown>;
  /** Connections on their way to it. */
  private readonly handed = new Map<number, Socket>();
  private handedCount = 0;

  constructor(
    prefix: string,
    { path, transports, settings, operators }: WorkerProcessesOptions,
    onMessage: (message: FromWorker) => void,
    onExit: (lifetime: number) => void,
    /** It died before it took these connections. */
    onUntaken: (sockets: readonly Socket[]) => void,
  ) {
    const { file, options } = processEntry();
    const began = performance.now();
    const child = fork(file, [], { serialization: "advanced", ...options });
    this.child = child;
    this.exited = once(child, "exit");
    this.ready = new Promise((resolve, reject) => {
      child.on("message", (message: FromWorker) => {
        if (message.kind === "ready") {
          this.isReady = true;
          this.wasReady = true;
          resolve();
        } else if (message.kind === "taken") {
          // The other process has the connection; this is but a second handle.
          this.handed.get(message.number)?.destroy();
          this.handed.delete(message.number);
        } else if (message.kind === "failed") {
          reject(
            new TesseractError((message.code ?? "LOAD_FAILED") as ErrorCode, message.message, { hint: message.hint }),
          );
        } else onMessage(message);
      });
      child.once("error", reject);
      const releaseHanded = (): void => {
        const sockets = [...this.handed.values()];
        this.handed.clear();
        onUntaken(sockets);
      };
      // All that it has said has been read by now.
      child.once("disconnect", () => {
        this.isReady = false;
        releaseHanded();
      });
      child.once("exit", (code, signal) => {
        this.isReady = false;
        void this.channelEnd().then((isRead) => {
          if (isRead) releaseHanded();
          else this.dropHanded();
        });
        reject(new TesseractError("LOAD_FAILED", `A worker process ended at its start, with ${signal ?? code}`));
        onExit(performance.now() - began);
      });
    });
    this.ready.catch(() => {});
    this.say({ kind: "start", path, transports, settings, operators, prefix });
  }

  /**
   * Resolves after the process, with whether all that it has said has been read. Node emits no "disconnect" for a process that has
   * ended before it acknowledged a connection.
   */
  private async channelEnd(): Promise<boolean> {
    const until = performance.now() + CHANNEL_END_MS;
    while (this.child.connected && performance.now() < until) await sleep(10);
    return !this.child.connected;
  }

  /**
   * A process that it started holds its channel. Which connections it has taken, and read from, isn't known then, so none is for
   * another: their clients see them end. Those in the channel stay open as long as that, so to close them would tell nobody.
   */
  private dropHanded(): void {
    for (const socket of this.handed.values()) socket.destroySoon();
    this.handed.clear();
    this.child.channel?.unref();
  }

  say(message: ToWorker): void {
    // One that has just died is told nothing; its exit is noticed by itself.
    if (this.child.connected) this.child.send(message, () => {});
  }

  take(socket: Socket): void {
    this.handedCount += 1;
    const number = this.handedCount;
    this.handed.set(number, socket);
    // What goes wrong here is that it has died, which the channel's end tells as well.
    this.child.send({ kind: "connection", number } satisfies ToWorker, socket, { keepOpen: true }, () => {});
  }

  async end(limit: number): Promise<void> {
    this.isReady = false;
    this.say({ kind: "close" });
    const timer = setTimeout(() => this.child.kill("SIGKILL"), limit);
    if (this.child.exitCode === null && this.child.signalCode === null) await this.exited;
    clearTimeout(timer);
  }
}
