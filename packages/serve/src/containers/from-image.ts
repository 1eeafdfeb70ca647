/** Starts a Tesseract from a container image, with docker or podman. */
import { randomBytes } from "node:crypto";
import { TesseractError, type TesseractTypes, type Untyped } from "@tesseract-ts/core";
import { networkEntry } from "../entries.js";
import { connectTo } from "../start/connect.js";
import type { Command, ServerLaunch } from "../start/launch.js";
import { startServer } from "../start/start-server.js";
import type { StartedTesseract, StartOptions } from "../start/started.js";
import { commandWords } from "./command-words.js";
import { DiagnosedBackend } from "./diagnosed-backend.js";
import { type ContainerDirectories, directoriesFor } from "./directories.js";
import { type Engine, type EngineOptions, findEngine } from "./engine.js";
import { endCommand } from "./engine-end.js";
import { engineEnvironment } from "./engine-environment.js";
import { removalOf } from "./engine-remains.js";
import { containerEnvironment } from "./environment.js";
import { failureOf } from "./failures.js";
import { type Image, inspectImage, RUNTIME_LABEL } from "./image.js";
import { isOwnNetwork, NETWORK_LABEL } from "./network.js";
import { type Container, type ContainerSettings, runArguments } from "./run-arguments.js";
import { whyMemoryIsNotShared } from "./shared-memory.js";
import { requireSources } from "./volumes.js";

export interface FromImageOptions extends StartOptions, EngineOptions, ContainerSettings {
  /** The same as `env`, by the reference's name: more variables for the container. */
  readonly environment?: Readonly<Record<string, string>>;
}

/**
 * Starts a Tesseract from an image that is on this machine, and connects to it: images of the reference (`tesseract build`) and
 * of `buildImage`. The container, and what was made for it, end with the result, and with this process, however that ends.
 *
 * With a `gpuTransport` of "cuda_ipc" the container gets all GPUs and this machine's IPC namespace, unless `gpus` and `ipc`
 * say otherwise; `pid: "host"` shares the PID namespace too, where the driver insists on it.
 *
 * @param image its name, such as `heat` or `heat:1.2`, or its id
 * @throws TesseractError ENGINE_UNAVAILABLE, IMAGE_NOT_FOUND, IMAGE_INVALID; ENGINE_FAILED if the engine has no GPUs, refuses a
 *   namespace, or knows no such network; START_FAILED, START_TIMED_OUT, PORT_TAKEN, ABORTED, INVALID_ARGUMENT,
 *   TRANSPORT_MISSING, TRANSPORT_UNUSABLE; and as `fromUrl` does
 *
 * @example
 * await using heat = await fromImage("heat", { gpus: ["all"], gpuTransport: "cuda_ipc" });
 * const { temperature } = await heat.apply({ source: new Float64Array(100) });
 */
export async function fromImage<T extends TesseractTypes = Untyped>(
  image: string,
  options: FromImageOptions = {},
): Promise<StartedTesseract<T>> {
  const { signal, onProgress } = options;
  onProgress?.({ step: "image", message: `Looking for the image ${image}` });
  const engine = await findEngine(options, signal);
  const found = await inspectImage(engine, image, { signal });
  const { gpuTransport, offerGpuTransport } = options;
  if (gpuTransport === "cuda_ipc") await requireSharedMemory(engine, options);
  try {
    return await start<T>(engine, found, options, gpuTransport ?? offerGpuTransport ?? "none");
  } catch (error) {
    const offeredOnly = gpuTransport === undefined && offerGpuTransport === "cuda_ipc" && options.gpus === undefined;
    if (!offeredOnly || !(error instanceof TesseractError) || error.code !== "ENGINE_FAILED") throw error;
    // It was to be offered where it can be.
    return await start<T>(engine, found, options, "none");
  }
}

async function start<T extends TesseractTypes>(
  engine: Engine,
  image: Image,
  options: FromImageOptions,
  gpuTransport: string,
): Promise<StartedTesseract<T>> {
  const shared = await directoriesFor(options);
  const { launch, namespaces } = await containerLaunch(engine, image, options, gpuTransport, shared);
  const server = await startServer(launch, options);
  return connectTo<T>(server, options, shared.directories, (backend) => new DiagnosedBackend(backend, namespaces));
}

async function containerLaunch(
  engine: Engine,
  image: Image,
  options: FromImageOptions,
  gpuTransport: string,
  { folders, volumes, open }: ContainerDirectories,
): Promise<{ readonly launch: ServerLaunch; readonly namespaces: ContainerSettings }> {
  const id = randomBytes(6).toString("hex");
  const label = `io.tesseract-ts.start=${id}`;
  const isOurs = RUNTIME_LABEL in image.labels;
  const cuda = gpuTransport === "cuda_ipc";
  if (cuda && !isOurs && (options.workers ?? 1) > 1) {
    throw new TesseractError(
      "INVALID_ARGUMENT",
      `The image "${image.name}" can't serve "cuda_ipc" with several workers`,
      {
        hint: "Only one of the reference's workers would know of an export. Leave `workers` out.",
      },
    );
  }
  const settings: Omit<Container, "port"> = {
    ...options,
    ...(cuda ? { ipc: options.ipc ?? "host", gpus: options.gpus ?? ["all"] } : {}),
    name: `tesseract-${id}`,
    image: image.name,
    host: options.host ?? "127.0.0.1",
    volumes: [...(options.volumes ?? []), ...volumes],
    environment: containerEnvironment(options, { gpuTransport, isOurs }),
    engineArguments: [
      ...["--label", label],
      ...commandWords(process.env.TESSERACT_DOCKER_RUN_ARGS ?? "", "TESSERACT_DOCKER_RUN_ARGS"),
      ...(options.engineArguments ?? []),
    ],
  };
  const network =
    options.network !== undefined && (await isOwnNetwork(engine, options.network, options))
      ? options.network
      : undefined;
  // What is wrong with the settings shows before anything is made.
  await requireSources(options.volumes ?? []);
  runArguments(engine.kind, { ...settings, port: 1 });
  const launch: ServerLaunch = {
    what: `The container of "${image.name}"`,
    listens: "elsewhere",
    folders,
    end: endCommand(engine, settings.name),
    cleanup: [removalOf(engine, { label, ...(network === undefined ? {} : { network }) })],
    command: (port) => {
      open();
      return commandFor(engine, runArguments(engine.kind, { ...settings, port }), network);
    },
    explain: ({ end, log }) => (end?.kind === "exited" ? failureOf(engine, settings, end.code, log) : undefined),
  };
  return { launch, namespaces: settings };
}

function commandFor(engine: Engine, run: readonly string[], network: string | undefined): Command {
  const env = engineEnvironment();
  if (network === undefined) return { ...engine.commandFor(run), env };
  const order = { command: engine.command, network, label: NETWORK_LABEL, run };
  return { command: process.execPath, args: [networkEntry(), JSON.stringify(order)], env };
}

async function requireSharedMemory(engine: Engine, { signal, ipc }: FromImageOptions): Promise<void> {
  const reason = await whyMemoryIsNotShared(engine, { signal });
  if (reason === undefined || ipc !== undefined) return;
  throw new TesseractError(
    "TRANSPORT_UNUSABLE",
    `gpuTransport "cuda_ipc" can't reach a container of ${engine.name}: ${reason}`,
    {
      hint: 'Use an engine that runs containers on this machine itself, or gpuTransport "none".',
    },
  );
}
