/** Builds the Python environment that a Tesseract's `tesseract_config.yaml` describes, with uv or conda, and finds it again. */
import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { access, mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { TesseractError } from "@tesseract-ts/core";
import { environmentWith } from "./environment.js";
import { findExecutable, wordsOf } from "./executables.js";
import { Guard } from "./guarded.js";
import type { Command } from "./launch.js";
import { LineLog } from "./line-log.js";
import { importVariables, runtimeOf } from "./python-runtime.js";
import { DEFAULT_PYTHON, pythonForLock } from "./python-version.js";
import { aborted, howItEnded } from "./start-failure.js";
import type { StartOptions, StartProgress } from "./started.js";
import { CONFIG_FILE, isPylock, readTesseractConfig, type TesseractConfig } from "./tesseract-config.js";

/** Beside the Tesseract. Not the reference's `.tesseract-venv`, which its SDK removes when it finds something else in it. */
const FOLDER = ".tesseract-ts-venv";
/** In an environment that is whole: what it was built from. */
const STAMP = ".tesseract-stamp.json";
/** What is installed where the requirements bring no runtime: the one that this project is tested with. */
const RUNTIME = "tesseract-core[runtime]==1.15.*";
/** Environments that are kept: of what a Tesseract needed before, one may still be in use. */
const KEPT = 2;
/** Milliseconds that a step has to end when the start is aborted. */
const STOP_MS = 2_000;

/** Variables that would make pip install elsewhere. */
const installVariables = ["PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER"];

export const pythonIn = (environment: string): string =>
  process.platform === "win32" ? join(environment, "Scripts", "python.exe") : join(environment, "bin", "python");

type BuildOptions = Pick<StartOptions, "signal" | "onLog" | "onProgress">;

/** Those that are being built by this process, by what they are built from: who needs the same shares it. */
const building = new Map<string, Build>();

/**
 * @param path of the `tesseract_api.py`
 * @returns the interpreter of its environment, which is built unless there is one
 * @throws TesseractError ENVIRONMENT_FAILED, ABORTED
 */
export async function pythonFor(path: string, options: BuildOptions): Promise<string> {
  const source = dirname(path);
  const config = await readTesseractConfig(source);
  if (config === undefined) {
    throw failed(
      `There is no ${CONFIG_FILE} beside ${path}, which would say what the Tesseract needs`,
      "Add one, or pass `pythonExecutable`, an interpreter that has what the Tesseract needs.",
    );
  }
  const plan = await planFor(source, config);
  const key = `${plan.home} ${plan.digest}`;
  for (;;) {
    const existing = await findEnvironment(plan);
    if (existing !== undefined) return pythonIn(existing);
    if (options.signal?.aborted) throw aborted(`The Tesseract "${path}"`, options.signal);
    let build = building.get(key);
    if (build === undefined) {
      build = new Build(path, plan);
      building.set(key, build);
      void build.end.then(() => building.delete(key));
    }
    if (!build.isGivenUp) return pythonIn(await build.join(options));
    // What it leaves is being removed.
    await unlessAborted(build.end, path, options.signal);
  }
}

/** Another may go on with the work that this one no longer waits for. */
async function unlessAborted<T>(work: Promise<T>, path: string, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  const done = new AbortController();
  const abort = new Promise<never>((_, reject) => {
    const onAbort = (): void => reject(aborted(`The Tesseract "${path}"`, signal));
    signal.addEventListener("abort", onAbort, { signal: done.signal });
    if (signal.aborted) onAbort();
  });
  try {
    return await Promise.race([work, abort]);
  } finally {
    done.abort();
  }
}

interface Plan {
  readonly source: string;
  /** The folder of the Tesseract's environments. */
  readonly home: string;
  readonly config: TesseractConfig;
  /** Undefined: it declares nothing. */
  readonly requirements: { readonly path: string; readonly text: string } | undefined;
  /** As `uv venv --python` takes it; undefined leaves it to uv. */
  readonly python: string | undefined;
  /** Of everything that the environment is built from. */
  readonly digest: string;
}

async function planFor(source: string, config: TesseractConfig): Promise<Plan> {
  const { provider, file } = config.requirements;
  const path = join(source, file);
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined && (provider === "conda" || isPylock(file))) {
    throw failed(
      `${CONFIG_FILE} names ${file}, and there is no such file in ${source}`,
      provider === "conda" ? `conda env export --no-builds > ${file}` : `uv export --format pylock.toml -o ${file}`,
    );
  }
  const python = pythonOf(config, text);
  const { inheritBaseImagePackages, buildEnv } = config;
  const digest = createHash("sha256")
    .update(JSON.stringify([RUNTIME, provider, python, inheritBaseImagePackages, buildEnv, file, text]))
    .digest("hex");
  const requirements = text === undefined ? undefined : { path, text };
  return { source, home: join(source, FOLDER), config, requirements, python, digest };
}

function pythonOf(
  { requirements, inheritBaseImagePackages }: TesseractConfig,
  text: string | undefined,
): string | undefined {
  if (requirements.provider === "conda") return undefined;
  if (requirements.pythonVersion !== undefined) return requirements.pythonVersion;
  if (inheritBaseImagePackages) return undefined;
  return text !== undefined && isPylock(requirements.file) ? pythonForLock(text) : DEFAULT_PYTHON;
}

/** Each environment has a name of its own, so that those who build at once don't meet; a stamp says that one is whole. */
async function findEnvironment({ home, digest }: Plan): Promise<string | undefined> {
  for (const name of (await readdir(home).catch(() => [])).sort()) {
    const environment = join(home, name);
    if ((await stampOf(environment)) === digest && (await isFile(pythonIn(environment)))) return environment;
  }
  return undefined;
}

async function stampOf(environment: string): Promise<string | undefined> {
  try {
    const stamp: unknown = JSON.parse(await readFile(join(environment, STAMP), "utf8"));
    return typeof stamp === "object" && stamp !== null && "digest" in stamp ? String(stamp.digest) : undefined;
  } catch {
    // There is none, or it was cut off: the environment isn't whole.
    return undefined;
  }
}

const isFile = async (path: string): Promise<boolean> => (await stat(path).catch(() => undefined))?.isFile() === true;

/**
 * One building of an environment, for all who need it: it goes on as long as one of them waits, and each hears all that it prints. What
 * isn't whole at its end is removed, even if this process is killed.
 */
class Build {
  private readonly waiting = new Set<BuildOptions>();
  private readonly givenUp = new AbortController();
  private readonly log = new LineLog((line) => {
    for (const { onLog } of this.waiting) onLog?.(line);
  });
  private progress: StartProgress | undefined;
  private readonly environment: string;
  private readonly result: Promise<string>;

  constructor(
    private readonly path: string,
    private readonly plan: Plan,
  ) {
    const name = `${plan.python === undefined ? "python" : `python-${plan.python.replaceAll(/[^\w.]+/g, "_")}`}`;
    this.environment = join(plan.home, `${name}-${randomBytes(4).toString("hex")}`);
    this.result = this.run();
  }

  /** Resolves when it has ended in whatever way, and what it leaves is gone. */
  get end(): Promise<void> {
    const ended = (): void => {};
    return this.result.then(ended, ended);
  }

  /** Nobody waits for it any more. */
  get isGivenUp(): boolean {
    return this.givenUp.signal.aborted;
  }

  /** @returns the environment */
  async join(options: BuildOptions): Promise<string> {
    // Two may have been given the same object.
    const one = { ...options };
    this.waiting.add(one);
    try {
      if (this.progress !== undefined) options.onProgress?.(this.progress);
      for (const line of this.log.lines) options.onLog?.(line);
      return await unlessAborted(this.result, this.path, options.signal);
    } finally {
      this.waiting.delete(one);
      if (this.waiting.size === 0) this.givenUp.abort();
    }
  }

  private async run(): Promise<string> {
    const { home, source, config } = this.plan;
    const tool = config.requirements.provider === "conda" ? await conda() : await uv();
    await access(source, constants.W_OK).catch((error) => {
      const hint = "Make it writable, or pass `pythonExecutable`, an interpreter that has what the Tesseract needs.";
      throw failed(`No environment can be built for ${this.path}: ${source} isn't writable`, hint, [], error);
    });
    if (config.hasHostCredentials) {
      this.log.add("host_credentials are for container images; here those of this machine are used (netrc, keyring).");
    }
    await mkdir(home, { recursive: true });
    // For git, and for those who search a project.
    await writeFile(join(home, ".gitignore"), "*\n");
    const guard = await Guard.open({ folders: [this.environment], cleanup: [], log: this.log });
    const { signal } = this.givenUp;
    const onAbort = (): void => guard.stop(STOP_MS);
    signal.addEventListener("abort", onAbort);
    try {
      for await (const { message, command } of this.steps(tool)) await this.step(guard, message, command);
      await writeFile(join(this.environment, STAMP), JSON.stringify({ digest: this.plan.digest }));
      guard.keep();
      await this.prune();
      return this.environment;
    } finally {
      signal.removeEventListener("abort", onAbort);
      await guard.close();
      // If there is none in it, the folder isn't worth keeping.
      if ((await readdir(home)).every((name) => name === ".gitignore")) {
        await rm(join(home, ".gitignore"), { force: true });
        await rmdir(home).catch(() => {});
      }
    }
  }

  private async step(guard: Guard, message: string, command: Command): Promise<void> {
    const { signal } = this.givenUp;
    const what = `The Tesseract "${this.path}"`;
    if (signal.aborted) throw aborted(what, signal);
    this.progress = { step: "environment", message };
    for (const { onProgress } of this.waiting) onProgress?.(this.progress);
    const { ended } = await guard.run(command);
    const end = await ended;
    if (signal.aborted) throw aborted(what, signal);
    if (end.kind === "exited" && end.code === 0) return;
    const { python, config } = this.plan;
    const isDefault = config.requirements.provider === "uv-pip" && config.requirements.pythonVersion === undefined;
    throw failed(
      `The environment of ${this.path} can't be built: ${message.charAt(0).toLowerCase()}${message.slice(1)}: ${basename(command.command)} ${howItEnded(end)}`,
      isDefault && python !== undefined
        ? `The error's \`log\` has what it printed last. If another Python than ${python} is needed, set build_config.requirements.python_version in ${CONFIG_FILE}.`
        : "The error's `log` has what it printed last.",
      this.log.end,
    );
  }

  private async *steps(
    tool: readonly string[],
  ): AsyncGenerator<{ readonly message: string; readonly command: Command }> {
    const { config, requirements, source, python } = this.plan;
    const env = environmentWith(config.buildEnv, [...importVariables, ...installVariables]);
    const [command = "", ...first] = tool;
    const run = (...args: readonly string[]): Command => ({ command, args: [...first, ...args], env, cwd: source });
    const interpreter = pythonIn(this.environment);
    const inside = (...args: readonly string[]): Command => ({ command: interpreter, args, env, cwd: source });
    if (config.requirements.provider === "conda") {
      const { file } = config.requirements;
      yield {
        message: `Installing ${file}`,
        command: run("env", "create", "--file", join(source, file), "-p", this.environment, "--quiet", "--yes"),
      };
      if (!(await isFile(interpreter))) {
        throw failed(
          `${file} makes an environment without Python`,
          "Declare one in it: `dependencies: [python=3.12]`.",
          this.log.end,
        );
      }
      // Not by uv, which doesn't see all that conda has installed.
      if (!(await this.hasRuntime(interpreter))) {
        yield { message: "Installing the Tesseract runtime", command: inside("-m", "pip", "install", RUNTIME) };
      }
      return;
    }
    const choice = python === undefined ? ["--system-site-packages"] : ["--python", python];
    yield {
      message:
        python === undefined ? "Making a virtual environment" : `Making a virtual environment with Python ${python}`,
      command: run(
        "venv",
        ...(python === undefined && !config.inheritBaseImagePackages ? [] : choice),
        this.environment,
      ),
    };
    const install = (...args: readonly string[]): Command => run("pip", "install", "--python", interpreter, ...args);
    if (requirements !== undefined) {
      const { file } = config.requirements;
      yield { message: `Installing ${file}`, command: install("--compile-bytecode", "-r", file) };
      const local = isPylock(file) ? [] : await localFolders(source, requirements.text);
      if (local.length > 0) {
        // So that a change of theirs is seen without building anew.
        yield {
          message: "Installing local requirements in place",
          command: install(...local.flatMap((each) => ["-e", each])),
        };
      }
    }
    if (!(await this.hasRuntime(interpreter))) {
      yield { message: "Installing the Tesseract runtime", command: install("--compile-bytecode", RUNTIME) };
    }
  }

  /** Whether the requirements have brought one, of whatever version. */
  private async hasRuntime(interpreter: string): Promise<boolean> {
    return (await runtimeOf(interpreter)).kind === "found";
  }

  /** Removes what was built for what the Tesseract needed earlier. */
  private async prune(): Promise<void> {
    const { home } = this.plan;
    const whole: { readonly environment: string; readonly made: number }[] = [];
    for (const name of await readdir(home)) {
      const environment = join(home, name);
      const stamp = await stat(join(environment, STAMP)).catch(() => undefined);
      if (stamp !== undefined) whole.push({ environment, made: stamp.mtimeMs });
    }
    whole.sort((a, b) => b.made - a.made);
    for (const { environment } of whole.slice(KEPT))
      await rm(environment, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Requirements that are folders on this machine, as `uv pip install -e` takes them. */
async function localFolders(source: string, text: string): Promise<readonly string[]> {
  const folders: string[] = [];
  for (const line of text.split("\n")) {
    const requirement = line.replace(/\s#.*$/, "").trim();
    if (!/^(\.|\/|file:\/\/)/.test(requirement)) continue;
    const [, path = "", extras = ""] = /^(.+?)(\[[^\]]*\])?$/.exec(requirement) ?? [];
    const folder = path.startsWith("file://") ? fileURLToPath(path) : resolve(source, path);
    if ((await stat(folder).catch(() => undefined))?.isDirectory() === true) folders.push(`${folder}${extras}`);
  }
  return folders;
}

async function uv(): Promise<readonly string[]> {
  return toolOf(
    wordsOf(process.env.TESSERACT_UV_EXECUTABLE ?? "uv"),
    "uv",
    "TESSERACT_UV_EXECUTABLE",
    "https://docs.astral.sh/uv/",
  );
}

async function conda(): Promise<readonly string[]> {
  const given = process.env.TESSERACT_CONDA_EXECUTABLE;
  const words = given === undefined ? [process.env.CONDA_EXE ?? "conda"] : wordsOf(given);
  return toolOf(words, "conda", "TESSERACT_CONDA_EXECUTABLE", "https://docs.conda.io/");
}

async function toolOf(
  words: readonly string[],
  name: string,
  variable: string,
  page: string,
): Promise<readonly string[]> {
  const [command = name, ...rest] = words;
  const path = await findExecutable(command);
  if (path !== undefined) return [path, ...rest];
  throw failed(
    `The Tesseract's environment is built by ${name}, and "${command}" isn't there`,
    `Install it (${page}), name it by ${variable}, or pass \`pythonExecutable\`, an interpreter that has what the Tesseract needs.`,
  );
}

const failed = (message: string, hint: string, log?: readonly string[], cause?: unknown): TesseractError =>
  new TesseractError("ENVIRONMENT_FAILED", message, { hint, log, cause });
