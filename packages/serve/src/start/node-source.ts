/** How a Tesseract in TypeScript or JavaScript is started: by Node, which this process is. */
import { TesseractError } from "@tesseract-ts/core";
import { serveFileEntry } from "../entries.js";
import type { ServeOptions } from "../serve.js";
import { moduleUrl } from "../transports.js";
import type { Directories } from "./connect.js";
import { environmentWith } from "./environment.js";
import type { ServerLaunch } from "./launch.js";
import type { RuntimeConfig, StartOptions } from "./started.js";

/** What a process that serves a file is told. All of it can be written as JSON. */
export interface FileToServe {
  readonly path: string;
  /** The module that gives the transports; the default ones without it. */
  readonly transports: string | undefined;
  /** A GPU transport to allow if its endpoints take GPU arrays. */
  readonly offerGpuTransport: string | undefined;
  readonly config: Omit<ServeOptions, "transports" | "configure" | "parentPipeFd">;
}

/** Milliseconds of the time for stopping that are left for the rest, once calls have been ended. */
const REST_MS = 2_000;

type Kind = "boolean" | "number" | "string";

/** What `runtimeConfig` may say. The rest of what `serve` takes can't be sent, or is an option of its own. */
export const settings: Readonly<Record<string, Kind>> = {
  outputFormat: "string",
  compression: "string",
  debug: "boolean",
  workers: "number",
  threads: "number",
  timeLimit: "number",
  maxConcurrentCalls: "number",
  maxRequestBytes: "number",
  maxArrayBytes: "number",
  bodyTimeout: "number",
  headersTimeout: "number",
  maxExportedBytes: "number",
  exportTimeLimit: "number",
  shutdownLimit: "number",
  log: "boolean",
  metrics: "boolean",
  tracing: "boolean",
};

/** @throws TesseractError INVALID_ARGUMENT */
export function nodeLaunch(
  path: string,
  options: StartOptions & { readonly serverTransports?: string | URL },
  directories: Directories,
): ServerLaunch {
  const { serverTransports, gpuTransport, offerGpuTransport, stopTimeout, host } = options;
  const config = {
    shutdownLimit: Math.max(1, (stopTimeout ?? 10_000) - REST_MS),
    ...settingsOf(options.runtimeConfig ?? {}),
    ...directories,
    ...(host === undefined ? {} : { host }),
    gpuTransport: gpuTransport ?? "none",
  };
  const transports = serverTransports === undefined ? undefined : moduleUrl(serverTransports);
  return {
    what: `The Tesseract "${path}"`,
    listens: "reported",
    command: (port) => ({
      command: process.execPath,
      args: [
        ...serveFileEntry(),
        JSON.stringify({
          path,
          transports,
          offerGpuTransport: gpuTransport === undefined ? offerGpuTransport : undefined,
          config: { ...config, port },
        } satisfies FileToServe),
      ],
      env: environmentWith(options.env),
    }),
    explain: ({ end }) => ({
      hint:
        end === undefined
          ? "A module that computes at its top level, or awaits something there, is loaded when that has ended. Give it more `startTimeout`."
          : "Its module ended the process: the error's `log` has what it printed last.",
    }),
  };
}

function settingsOf(given: RuntimeConfig): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const known = Object.keys(settings).find(
        (setting) => setting.toLowerCase() === name.replaceAll("_", "").toLowerCase(),
      );
      if (known === undefined) {
        throw new TesseractError(
          "INVALID_ARGUMENT",
          `runtimeConfig has "${name}", which a Tesseract in TypeScript has no setting for`,
          {
            hint: `There are ${Object.keys(settings).join(", ")}.`,
          },
        );
      }
      if (typeof value !== settings[known]) {
        throw new TesseractError(
          "INVALID_ARGUMENT",
          `runtimeConfig.${name} is a ${typeof value}, and must be a ${settings[known]}`,
        );
      }
      return [known, value];
    }),
  );
}
