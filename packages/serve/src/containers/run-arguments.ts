/** What the engine's `run` is told. */
import { TesseractError } from "@tesseract-ts/core";
import type { Engine } from "./engine.js";
import { gpuArguments } from "./gpus.js";
import { type Volume, volumeArguments } from "./volumes.js";

/** How the container runs, as `fromImage` takes it. */
export interface ContainerSettings {
  /** GPUs of this machine that it gets: `["all"]`, or numbers and UUIDs. With "cuda_ipc" all, if left out; `[]` for none. */
  readonly gpus?: readonly (string | number)[];
  /**
   * The IPC namespace: `host` is this machine's. With "cuda_ipc" `host`, if left out: without it the CUDA driver can't open
   * what the other side exports.
   */
  readonly ipc?: string;
  /** The PID namespace: `host` is this machine's, which some CUDA drivers insist on for "cuda_ipc". */
  readonly pid?: string;
  /** Folders and files of this machine that it sees: `"./data:/data"` read only, `"./data:/data:rw"`. */
  readonly volumes?: readonly (string | Volume)[];
  /** `host`, or the name of a network, which is made (and removed again) if there is none. The engine's own if left out. */
  readonly network?: string;
  /** A name that other containers on `network` know it by. */
  readonly networkAlias?: string;
  /** Ports of it besides the Tesseract's that this machine sees, as engines take them: `"9000:9000"`. */
  readonly ports?: readonly string[];
  /** Who it runs as, such as `"1000:1000"`. Whoever runs this process if left out, so that its files are theirs. */
  readonly user?: string;
  /** The most memory that it may use: `"512m"`, `"2g"`, or bytes. */
  readonly memory?: string | number;
  /** Processes that answer. 1 if left out. */
  readonly workers?: number;
  /** More arguments for the engine's `run`, after those of `TESSERACT_DOCKER_RUN_ARGS`. */
  readonly engineArguments?: readonly string[];
}

/** One container. */
export interface Container extends ContainerSettings {
  readonly name: string;
  readonly image: string;
  /** The address of this machine that it is reached at. */
  readonly host: string;
  readonly port: number;
  readonly environment: Readonly<Record<string, string>>;
}

/** The port within a container that has a network of its own. */
const INNER_PORT = 8000;

/** Marks what was made here, for people and for cleaning up. */
export const MADE_LABEL = "io.tesseract-ts.started=1";

/** @throws TesseractError INVALID_ARGUMENT */
export function runArguments(kind: Engine["kind"], container: Container): readonly string[] {
  const { name, image, host, port, environment, network, ipc, pid, memory, networkAlias, workers = 1 } = container;
  const user = container.user ?? ownUser();
  const shared = network === "host";
  if (network === "none") throw invalid('network "none" leaves no way to call the Tesseract');
  if (networkAlias !== undefined && (network === undefined || shared)) {
    throw invalid("networkAlias needs a network of its own: { network }");
  }
  if (!Number.isInteger(workers) || workers < 1) throw invalid(`${workers} is no number of worker processes`);
  if (memory !== undefined && !/^\d+[bkmg]?$/i.test(String(memory))) {
    throw invalid(`memory "${memory}" is no amount`, 'Such as "512m" or "2g".');
  }
  return [
    "run",
    ...["--name", name],
    ...["--label", MADE_LABEL],
    // Health is asked for over HTTP; an image's own check would start a process every few seconds.
    "--no-healthcheck",
    ...(shared ? [] : ["--publish", `${publishedHost(host)}:${port}:${INNER_PORT}`]),
    ...(container.ports ?? []).flatMap((published) => ["--publish", published]),
    ...option("--network", network),
    ...option("--network-alias", networkAlias),
    ...option("--ipc", ipc),
    ...option("--pid", pid),
    ...option("--user", user),
    // As with docker, a user is the one of this machine by that number. Root has no namespace to keep it in.
    ...(kind === "podman" && user !== undefined && ownUser() !== "0:0" ? ["--userns", "keep-id"] : []),
    ...option("--memory", memory),
    ...gpuArguments(kind, container.gpus ?? []),
    ...volumeArguments(container.volumes ?? []).flatMap((volume) => ["--volume", volume]),
    ...Object.entries(environment).flatMap(([variable, value]) => ["--env", `${variable}=${value}`]),
    ...(container.engineArguments ?? []),
    image,
    "serve",
    ...["--host", shared ? host : "0.0.0.0"],
    ...["--port", String(shared ? port : INNER_PORT)],
    ...(workers > 1 ? ["--num-workers", String(workers)] : []),
  ];
}

const option = (name: string, value: string | number | undefined): readonly string[] =>
  value === undefined ? [] : [name, String(value)];

const publishedHost = (host: string): string => (host.includes(":") && !host.startsWith("[") ? `[${host}]` : host);

/** Systems without numbers for users have an engine in a machine of its own. */
function ownUser(): string | undefined {
  const user = process.getuid?.();
  const group = process.getgid?.();
  return user === undefined || group === undefined ? undefined : `${user}:${group}`;
}

const invalid = (message: string, hint?: string): TesseractError =>
  new TesseractError("INVALID_ARGUMENT", message, { hint });
