/** Starts a server, waits until it answers, and watches over it. */
import { TesseractError } from "@tesseract-ts/core";
import { urlAt } from "./address.js";
import { Guard } from "./guarded.js";
import { waitForHealth } from "./health.js";
import type { ServerLaunch, ServerReport } from "./launch.js";
import { LineLog } from "./line-log.js";
import { isListening } from "./listener.js";
import { freePorts, type PortChoice, portChoiceOf, releasePort } from "./ports.js";
import { aborted, endedAtStart, late, portTaken, saysPortTaken } from "./start-failure.js";
import type { ProcessEnd, StartOptions } from "./started.js";

export type { Command, Explanation, FailedStart, ServerLaunch, ServerReport } from "./launch.js";

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 10_000;
/** Milliseconds that a server has to end whose start failed. */
const FAILED_STOP_MS = 1_000;
/** The longest delay of `setTimeout`. */
const LONGEST_MS = 2 ** 31 - 1;

export type ServerOptions = Pick<
  StartOptions,
  "host" | "port" | "startTimeout" | "stopTimeout" | "signal" | "onLog" | "onProgress"
>;

/** A server that answers. */
export interface RunningServer {
  readonly what: string;
  readonly url: string;
  readonly port: number;
  readonly processId: number;
  /** The last lines, oldest first. */
  readonly log: readonly string[];
  /** As many of them as an error has. */
  readonly endOfLog: readonly string[];
  /** Resolves when the process has ended, and all that it printed has been read. */
  readonly ended: Promise<ProcessEnd>;
  /** How it ended, if it has. */
  readonly end: ProcessEnd | undefined;
  /** Orderly, after `stopTimeout` by force; then `cleanup` and the folders. May be called again. */
  stop(): Promise<void>;
}

/**
 * Starts a server in a process group of its own. Until it is stopped, it ends with this process, however that ends.
 *
 * @throws TesseractError START_FAILED, START_TIMED_OUT, PORT_TAKEN, ABORTED, INVALID_ARGUMENT, and what the server reports;
 *   `log` has the last lines
 */
export async function startServer(launch: ServerLaunch, options: ServerOptions): Promise<RunningServer> {
  const { host = "127.0.0.1", signal } = options;
  const choice = portChoiceOf(options.port);
  const startTimeout = milliseconds("startTimeout", options.startTimeout, START_TIMEOUT_MS);
  const stopTimeout = milliseconds("stopTimeout", options.stopTimeout, STOP_TIMEOUT_MS);
  const until = performance.now() + startTimeout;
  let last: TesseractError | undefined;
  for await (const port of portsFor(launch, host, choice)) {
    try {
      if (signal?.aborted) throw aborted(launch.what, signal);
      options.onProgress?.({ step: "process", message: `${launch.what} is being started` });
      return await startOn(port, { launch, host, startTimeout, stopTimeout, until, signal, onLog: options.onLog });
    } catch (error) {
      releasePort(port);
      if (!(error instanceof TesseractError) || error.code !== "PORT_TAKEN" || performance.now() > until) throw error;
      last = error;
    }
  }
  throw portTaken(launch.what, choice, last?.log);
}

interface Attempt {
  readonly launch: ServerLaunch;
  readonly host: string;
  readonly startTimeout: number;
  readonly stopTimeout: number;
  /** When it must answer, by `performance.now()`. */
  readonly until: number;
  readonly signal: AbortSignal | undefined;
  readonly onLog: StartOptions["onLog"];
}

async function startOn(port: number, attempt: Attempt): Promise<RunningServer> {
  const { launch, stopTimeout } = attempt;
  const log = new LineLog(attempt.onLog);
  const reports = new Reports();
  const guard = await Guard.open({
    folders: launch.folders ?? [],
    cleanup: launch.cleanup ?? [],
    log,
    onReport: (line) => reports.add(line),
  });
  try {
    const started = await guard.run(await launch.command(port), {
      reports: launch.listens === "reported",
      end: launch.end,
    });
    const listening = await untilReady(port, started, attempt, log, reports);
    guard.holdsProcess = false;
    return new Server(launch.what, attempt.host, listening, started, log, async () => {
      guard.holdsProcess = true;
      guard.stop(stopTimeout);
      await started.ended;
      await guard.close();
      releasePort(port);
    });
  } catch (error) {
    guard.stop(FAILED_STOP_MS);
    await guard.idle();
    await guard.close();
    throw error;
  }
}

/** @returns the port that it listens on */
async function untilReady(
  port: number,
  { pid, ended }: { readonly pid: number; readonly ended: Promise<ProcessEnd> },
  { launch, host, startTimeout, until, signal }: Attempt,
  log: LineLog,
  reports: Reports,
): Promise<number> {
  const waiting = new AbortController();
  const outOfTime = new Promise<"late">((resolve) => {
    const timer = setTimeout(() => resolve("late"), Math.max(0, until - performance.now()));
    waiting.signal.addEventListener("abort", () => clearTimeout(timer));
  });
  const onAbort = new Promise<"aborted">((resolve) => {
    signal?.addEventListener("abort", () => resolve("aborted"), { signal: waiting.signal });
    if (signal?.aborted) resolve("aborted");
  });
  const ready = async (): Promise<number> => {
    const listening = launch.listens === "reported" ? await reports.port : port;
    await waitForHealth(urlAt(host, listening), waiting.signal);
    return listening;
  };
  const becoming = ready();
  // What it is aborted with is nobody's business.
  becoming.catch(() => {});
  try {
    const outcome = await Promise.race([becoming, ended, outOfTime, onAbort]);
    if (outcome === "late") throw late(launch, startTimeout, log.end);
    if (outcome === "aborted") throw aborted(launch.what, signal as AbortSignal);
    if (typeof outcome === "object") {
      if (reports.last?.kind !== "failed" && saysPortTaken(log.end)) throw takenOf(launch.what, port, log);
      throw endedAtStart(launch, outcome, log.end, reports.last);
    }
    const others = launch.listens === undefined || launch.listens === "own";
    if (others && (await isListening(pid, outcome)) === false) throw takenOf(launch.what, port, log);
    return outcome;
  } finally {
    waiting.abort();
  }
}

const takenOf = (what: string, port: number, log: LineLog): TesseractError =>
  portTaken(what, { kind: "one", port }, log.end);

class Server implements RunningServer {
  end: ProcessEnd | undefined;
  readonly url: string;
  readonly processId: number;
  readonly ended: Promise<ProcessEnd>;
  private stopping: Promise<void> | undefined;

  constructor(
    readonly what: string,
    host: string,
    readonly port: number,
    { pid, ended }: { readonly pid: number; readonly ended: Promise<ProcessEnd> },
    private readonly lines: LineLog,
    private readonly onStop: () => Promise<void>,
  ) {
    this.url = urlAt(host, port);
    this.processId = pid;
    this.ended = ended;
    void ended.then((end) => {
      this.end = end;
    });
  }

  get log(): readonly string[] {
    return this.lines.lines;
  }

  get endOfLog(): readonly string[] {
    return this.lines.end;
  }

  stop(): Promise<void> {
    this.stopping ??= this.onStop();
    return this.stopping;
  }
}

/** What a server of ours says of itself. */
class Reports {
  last: ServerReport | undefined;
  readonly port: Promise<number>;
  private resolve: (port: number) => void = () => {};

  constructor() {
    this.port = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  add(line: string): void {
    this.last = JSON.parse(line) as ServerReport;
    if (this.last.kind === "listening") this.resolve(this.last.port);
  }
}

function portsFor(launch: ServerLaunch, host: string, choice: PortChoice): AsyncIterable<number> | Iterable<number> {
  // The kernel gives a server of ours a port that nobody can take in between.
  return launch.listens === "reported" && choice.kind === "any" ? [0] : freePorts(host, choice);
}

function milliseconds(name: string, given: number | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  if (!(given > 0)) throw new TesseractError("INVALID_ARGUMENT", `${name} is ${given}, and must be more than 0`);
  return Math.min(given, LONGEST_MS);
}
