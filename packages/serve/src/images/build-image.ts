/** Makes a container image of a Tesseract in TypeScript. */
import { randomBytes } from "node:crypto";
import { cp, mkdir, readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { TesseractError } from "@tesseract-ts/core";
import { commandWords } from "../containers/command-words.js";
import { type Engine, type EngineOptions, findEngine, lastWords } from "../containers/engine.js";
import { engineEnvironment } from "../containers/engine-environment.js";
import { removalOf } from "../containers/engine-remains.js";
import { Guard } from "../start/guarded.js";
import { LineLog } from "../start/line-log.js";
import type { StartProgress } from "../start/started.js";
import { pathOf } from "./bundle.js";
import { writeContext } from "./image-context.js";

/** Small, and kept up to date by Node's maintainers. */
export const DEFAULT_BASE = "docker.io/library/node:22-slim";

export interface BuildImageOptions extends EngineOptions {
  /** What the image is called, such as `heat` or `heat:1.2`. */
  readonly tag: string;
  /** The image that it is based on: any Linux with `node` on its PATH, 20.18.1 or newer. `node:22-slim` if left out. */
  readonly base?: string;
  /** Files and folders that the Tesseract reads, relative to its own folder; they have the same places in the image. */
  readonly include?: readonly string[];
  /** Packages that it needs without importing them by name, such as `@tesseract-ts/transport-cuda-ipc`. */
  readonly packages?: readonly string[];
  /** Variables that the image sets. */
  readonly environment?: Readonly<Record<string, string>>;
  /** A folder that gets the image's recipe and all that it copies, to look at, change, and build from again. */
  readonly keep?: string;
  /** More arguments for the engine's `build`, after those of `TESSERACT_DOCKER_BUILD_ARGS`. */
  readonly engineArguments?: readonly string[];
  readonly onProgress?: (progress: StartProgress) => void;
  /** Told each line that the engine prints. */
  readonly onLog?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface BuiltImage {
  /** As it was asked for. */
  readonly tag: string;
  readonly id: string;
  /** The Tesseract's name and version, by its definition. */
  readonly name: string;
  readonly version: string;
}

/**
 * Makes an image of a Tesseract in TypeScript or JavaScript, with the packages that it needs as they are installed here. Its
 * own modules are compiled into one file. The image serves it by itself (`docker run --publish 8000:8000 heat`), by `fromImage`,
 * and by the reference's `Tesseract.from_image`; not as root, with a check of its health.
 *
 * Packages with native code are copied as they are: those of another system than the image's don't work there.
 *
 * @param file the module whose default export it is
 * @throws TesseractError BUILD_FAILED, whose `log` has the end of what failed; ENGINE_UNAVAILABLE, IMAGE_NOT_FOUND for the base,
 *   INVALID_ARGUMENT, ABORTED
 *
 * @example
 * await buildImage("./heat.ts", { tag: "heat" });
 * await using heat = await fromImage("heat");
 */
export async function buildImage(file: string | URL, options: BuildImageOptions): Promise<BuiltImage> {
  const { tag, base = DEFAULT_BASE, signal, keep, onProgress } = options;
  const path = pathOf(file);
  const step = (message: string): void => onProgress?.({ step: "image", message });
  if (!/^[a-z0-9][\w./:@-]*$/.test(tag)) {
    throw new TesseractError("INVALID_ARGUMENT", `"${tag}" is no name for an image`, {
      hint: 'Names have lower-case letters, digits, ".", "_", "-" and "/", and after a ":" a version: "heat:1.2".',
    });
  }
  if ((await stat(path).catch(() => undefined))?.isFile() !== true) {
    throw new TesseractError("LOAD_FAILED", `The Tesseract "${path}" can't be loaded: there is no such file`);
  }
  if (keep !== undefined) await requireEmpty(keep);
  const engine = await findEngine(options, signal);
  await requireBase(engine, base, options, step);

  const id = randomBytes(6).toString("hex");
  const folder = join(tmpdir(), `tesseract-image-${id}`);
  const log = new LineLog(options.onLog);
  const names = temporaryNames(engine, id);
  const guard = await Guard.open({
    folders: [folder],
    cleanup: names === undefined ? [] : [removalOf(engine, { workingContainer: names.container, tag: names.tag })],
    log,
  });
  try {
    const context = await orAborted(
      writeContext(path, folder, {
        base,
        include: options.include ?? [],
        packages: options.packages ?? [],
        environment: options.environment ?? {},
        signal,
        onStep: step,
      }),
      path,
      signal,
    );
    if (keep !== undefined) await cp(folder, resolve(keep), { recursive: true });
    if (names !== undefined)
      await engine.mustRun(["tag", base, names.tag], `The image "${base}" can't be named`, { signal });
    step(`Building ${tag} with ${engine.name}`);
    await build(guard, engine, buildArguments(engine, folder, options, names?.tag), log, path, signal);
    const inspected = await engine.mustRun(
      ["image", "inspect", "--format", "{{.Id}}", tag],
      `The image "${tag}" can't be looked at`,
      { signal },
    );
    return { tag, id: inspected.trim(), ...context };
  } finally {
    await guard.close();
  }
}

/** By them podman's container for building can be found, which it keeps when it is killed: it is named for its base. */
function temporaryNames(engine: Engine, id: string): { readonly tag: string; readonly container: string } | undefined {
  if (engine.kind !== "podman") return undefined;
  const name = `tesseract-build-${id}`;
  return { tag: `localhost/${name}`, container: `${name}-working-container` };
}

function buildArguments(
  engine: Engine,
  folder: string,
  { tag, engineArguments = [] }: BuildImageOptions,
  from: string | undefined,
): readonly string[] {
  return [
    "build",
    ...["--tag", tag],
    ...["--file", join(folder, "Containerfile")],
    // The other format has no place for a check of health. One layer is quicker, and nothing of it could be used again.
    ...(engine.kind === "podman" ? ["--format", "docker", "--layers=false"] : []),
    ...(from === undefined ? [] : ["--from", from]),
    ...commandWords(process.env.TESSERACT_DOCKER_BUILD_ARGS ?? "", "TESSERACT_DOCKER_BUILD_ARGS"),
    ...engineArguments,
    folder,
  ];
}

async function build(
  guard: Guard,
  engine: Engine,
  args: readonly string[],
  log: LineLog,
  path: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { ended } = await guard.run({ ...engine.commandFor(args), env: engineEnvironment() });
  const onAbort = (): void => guard.stop(0);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const end = await ended;
  signal?.removeEventListener("abort", onAbort);
  if (signal?.aborted) throw aborted(path, signal);
  if (end.kind === "exited" && end.code === 0) return;
  throw new TesseractError("BUILD_FAILED", `${engine.name} can't build the image: ${lastWords(log.lines.join("\n"))}`, {
    log: log.end,
  });
}

/** Gets the base, if it isn't here: apart from the build, since it takes long and can be ended at any moment. */
async function requireBase(
  engine: Engine,
  base: string,
  { signal, onLog }: BuildImageOptions,
  step: (message: string) => void,
): Promise<void> {
  if ((await engine.run(["image", "inspect", base], { signal })).status === 0) return;
  step(`Pulling ${base}`);
  const { status, stderr } = await engine.run(["pull", base], {
    signal,
    ...(onLog === undefined ? {} : { onLine: onLog }),
  });
  if (status === 0) return;
  throw new TesseractError("IMAGE_NOT_FOUND", `The base image "${base}" can't be had: ${lastWords(stderr)}`, {
    hint: "Is the registry reachable? Another base, with Node in it, is named by `base`.",
    log: stderr.trim().split("\n").slice(-20),
  });
}

async function requireEmpty(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length === 0) return;
  throw new TesseractError(
    "INVALID_ARGUMENT",
    `The folder ${resolve(folder)}, which is to keep the image's files, isn't empty`,
  );
}

async function orAborted<T>(work: Promise<T>, path: string, signal: AbortSignal | undefined): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw signal?.aborted ? aborted(path, signal) : error;
  }
}

const aborted = (path: string, signal: AbortSignal): TesseractError =>
  new TesseractError("ABORTED", `The image of ${path} isn't built: it was aborted`, { cause: signal.reason });
