/** The variables of a container. */
import type { RuntimeConfig, StartOptions } from "../start/started.js";
import { INNER_INPUT, INNER_OUTPUT } from "./directories.js";

/** Milliseconds of the time for stopping that are left for the rest, once calls have been ended. */
const REST_MS = 2_000;

export function containerEnvironment(
  options: Pick<StartOptions, "env" | "outputFormat" | "compression" | "runtimeConfig" | "stopTimeout"> & {
    readonly environment?: Readonly<Record<string, string>>;
  },
  { gpuTransport, isOurs }: { readonly gpuTransport: string; readonly isOurs: boolean },
): Readonly<Record<string, string>> {
  const settings: RuntimeConfig = {
    ...options.runtimeConfig,
    INPUT_PATH: INNER_INPUT,
    OUTPUT_PATH: INNER_OUTPUT,
    GPU_TRANSPORT: gpuTransport,
    ...(isOurs ? { SHUTDOWN_LIMIT: Math.max(1, (options.stopTimeout ?? 10_000) - REST_MS) } : {}),
  };
  return { ...runtimeVariables(settings), ...options.env, ...options.environment };
}

/** The runtime reads each setting by two names, of which the second wins, and may be set by the image. */
export const runtimeVariables = (settings: RuntimeConfig): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) => {
      const variable = name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toUpperCase();
      const text = typeof value === "boolean" ? (value ? "1" : "0") : String(value);
      return [
        [`TESSERACT_${variable}`, text],
        [`TESSERACT_RUNTIME_${variable}`, text],
      ];
    }),
  );
