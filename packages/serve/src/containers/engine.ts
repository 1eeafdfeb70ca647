/** The container engine: docker or podman, by its command. */
import { spawn } from "node:child_process";
import { TesseractError } from "@tesseract-ts/core";
import { LineSplitter } from "../start/line-log.js";
import { commandWords } from "./command-words.js";

/** Characters that are kept of what a command prints; the end of it. */
const MOST_OUTPUT = 2 ** 20;
/** Milliseconds that an engine has to say its version. A desktop's has to wake up first. */
const PATIENCE_MS = 60_000;

export interface EngineOptions {
  /**
   * The command, such as `podman` or `podman --root /var/images`; as words, where one has a space. If left out,
   * `TESSERACT_ENGINE`, then `TESSERACT_DOCKER_EXECUTABLE` (which the reference reads), then the first of docker and
   * podman that answers.
   */
  readonly engine?: string | readonly string[];
}

/** What a command of the engine said and how it ended. */
export interface EngineAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface EngineCall {
  readonly signal?: AbortSignal | undefined;
  /** Told each line of either stream. */
  readonly onLine?: (line: string) => void;
}

/** An engine that answered. */
export class Engine {
  constructor(
    /** The command's words, without those of what it is to do. */
    readonly command: readonly [string, ...string[]],
    readonly kind: "docker" | "podman",
    readonly version: string,
  ) {}

  /** As a person would call it. */
  get name(): string {
    return `${this.kind} ${this.version}`;
  }

  /** What is to be run for `args`: a program and all of its arguments. */
  commandFor(args: readonly string[]): { readonly command: string; readonly args: readonly string[] } {
    const [command, ...first] = this.command;
    return { command, args: [...first, ...args] };
  }

  /**
   * Runs a command to its end, whatever its status.
   *
   * @throws TesseractError ENGINE_UNAVAILABLE if the program can't be run; ABORTED
   */
  run(args: readonly string[], call: EngineCall = {}): Promise<EngineAnswer> {
    return runCommand([...this.command, ...args], call);
  }

  /**
   * The same for a command that has to succeed.
   *
   * @param what for the error: "The network can't be made"
   * @throws TesseractError ENGINE_FAILED, ENGINE_UNAVAILABLE, ABORTED
   */
  async mustRun(args: readonly string[], what: string, call: EngineCall = {}): Promise<string> {
    const { status, stdout, stderr } = await this.run(args, call);
    if (status === 0) return stdout;
    throw new TesseractError("ENGINE_FAILED", `${what}: ${lastWords(stderr) || `${this.kind} ended with ${status}`}`);
  }
}

/**
 * The engine that is named, or the first that answers.
 *
 * @throws TesseractError ENGINE_UNAVAILABLE, INVALID_ARGUMENT, ABORTED
 */
export async function findEngine(
  options: EngineOptions = {},
  signal?: AbortSignal,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<Engine> {
  const named = namedEngine(options, environment);
  if (named !== undefined) {
    const found = await ask(named.command, signal);
    if (found instanceof Engine) return found;
    throw new TesseractError("ENGINE_UNAVAILABLE", `${named.from} doesn't answer: ${found.reason}`, {
      hint: hintFor(found.reason),
    });
  }
  const reasons: string[] = [];
  for (const name of ["docker", "podman"]) {
    const found = await ask([name], signal);
    if (found instanceof Engine) return found;
    reasons.push(`${name}: ${found.reason}`);
  }
  throw new TesseractError("ENGINE_UNAVAILABLE", `No container engine answers. ${reasons.join("; ")}`, {
    hint: "Install docker or podman, start it, or name its command: { engine } or TESSERACT_ENGINE.",
  });
}

function namedEngine(
  { engine }: EngineOptions,
  environment: NodeJS.ProcessEnv,
): { readonly command: readonly [string, ...string[]]; readonly from: string } | undefined {
  const variable = ["TESSERACT_ENGINE", "TESSERACT_DOCKER_EXECUTABLE"].find((name) => environment[name]);
  const given = engine ?? (variable === undefined ? undefined : environment[variable]);
  if (given === undefined) return undefined;
  const from = engine !== undefined || variable === undefined ? "engine" : variable;
  const [program, ...rest] = typeof given === "string" ? commandWords(given, from) : given;
  if (program === undefined || program === "") {
    throw new TesseractError("INVALID_ARGUMENT", `${from} names no program`, { hint: 'Such as "podman".' });
  }
  return { command: [program, ...rest], from: `The container engine "${[program, ...rest].join(" ")}" (${from})` };
}

async function ask(
  command: readonly [string, ...string[]],
  signal: AbortSignal | undefined,
): Promise<Engine | { readonly reason: string }> {
  const patience = AbortSignal.timeout(PATIENCE_MS);
  let answer: EngineAnswer;
  try {
    answer = await runCommand([...command, "version", "--format", "{{json .}}"], {
      signal: signal === undefined ? patience : AbortSignal.any([signal, patience]),
    });
  } catch (error) {
    if (!(error instanceof TesseractError)) throw error;
    if (error.code !== "ABORTED") return { reason: error.message };
    if (signal?.aborted === true) throw error;
    return { reason: `it said nothing for ${PATIENCE_MS / 1000} s` };
  }
  // Docker's client answers with status 1 where its daemon doesn't.
  if (answer.status !== 0) return { reason: lastWords(answer.stderr) || `it ended with status ${answer.status}` };
  const version = versionOf(answer.stdout);
  return version === undefined
    ? { reason: "it is neither docker nor podman" }
    : new Engine(command, version.kind, version.version);
}

function versionOf(json: string): { readonly kind: Engine["kind"]; readonly version: string } | undefined {
  let said: { readonly Client?: Readonly<Record<string, unknown>> } | null;
  try {
    said = JSON.parse(json);
  } catch {
    return undefined;
  }
  const { Version: version, APIVersion: podmans } = said?.Client ?? {};
  if (typeof version !== "string") return undefined;
  // Docker, and those that imitate its client, spell it ApiVersion. A `docker` that is podman in disguise doesn't.
  return { kind: podmans === undefined ? "docker" : "podman", version };
}

const hintFor = (reason: string): string =>
  /permission denied/i.test(reason)
    ? "This user may not use it: add them to its group, or use podman, which needs no rights."
    : /ENOENT|not found/.test(reason)
      ? "Is it installed, and on the PATH?"
      : "Is it running? Start Docker, `podman machine start`, or the service.";

function runCommand(words: readonly string[], { signal, onLine }: EngineCall): Promise<EngineAnswer> {
  const [command = "", ...args] = words;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(aborted(command, signal));
    // A group of its own: Ctrl-C at a terminal is for this process, which decides what ends.
    const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], detached: process.platform !== "win32" });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      const lines = onLine === undefined ? undefined : new LineSplitter(onLine);
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] = (output[name] + text).slice(-MOST_OUTPUT);
        lines?.add(text);
      });
      child[name].on("end", () => lines?.finish());
    }
    const onAbort = (): void => void child.kill("SIGTERM");
    signal?.addEventListener("abort", onAbort, { once: true });
    let failed: Error | undefined;
    child.once("error", (error) => {
      failed = error;
      if (child.pid === undefined) finish(undefined);
    });
    child.once("close", finish);
    function finish(status: number | null | undefined): void {
      signal?.removeEventListener("abort", onAbort);
      if (signal?.aborted === true) reject(aborted(command, signal));
      else if (status === undefined) reject(cannotRun(command, failed));
      else resolve({ status: status ?? 255, ...output });
    }
  });
}

const aborted = (command: string, signal: AbortSignal): TesseractError =>
  new TesseractError("ABORTED", `\`${command}\` was ended`, { cause: signal.reason });

const cannotRun = (command: string, cause: Error | undefined): TesseractError => {
  const missing = (cause as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
  const reason = missing ? `${command} isn't installed (ENOENT)` : `${command} can't be run: ${String(cause)}`;
  return new TesseractError("ENGINE_UNAVAILABLE", reason, { cause, hint: hintFor(reason) });
};

/** The last line that says something: what was wrong comes last. */
export function lastWords(stderr: string): string {
  const lines = stderr.split("\n").map((line) => line.trim());
  return (lines.filter((line) => line !== "" && !line.startsWith("See '")).at(-1) ?? "").replace(/^Error: /, "");
}
