/** What an engine's words mean: why a container didn't run. */
import type { Explanation } from "../start/launch.js";
import { type Engine, lastWords } from "./engine.js";
import { gpuHint } from "./gpus.js";
import type { Container } from "./run-arguments.js";

/** The status of `run` where the container's command isn't what failed. */
const ENGINE_STATUS = 125;
/** 128 and SIGKILL. */
const KILLED_STATUS = 137;

/**
 * Reads how the engine's `run` ended. Undefined where it says no more than that the Tesseract's process ended.
 *
 * @param status of the engine's client
 * @param log its last lines
 */
export function failureOf(
  engine: Engine,
  { image, memory, ipc }: Pick<Container, "image" | "memory" | "ipc">,
  status: number,
  log: readonly string[],
): Explanation | undefined {
  const text = log.join("\n");
  const words = lastWords(text);
  const says = `${engine.name} says: ${words}`;
  if (/exec format error/i.test(text)) {
    return {
      code: "IMAGE_INVALID",
      message: `The image "${image}" is for another kind of processor. ${says}`,
      hint: "Build it for this one.",
    };
  }
  if (status === KILLED_STATUS) {
    return {
      code: "START_FAILED",
      message: `The container of "${image}" was killed`,
      hint:
        memory === undefined
          ? "The machine may have run out of memory."
          : `It had ${memory} of memory, and may have needed more: see \`memory\`.`,
    };
  }
  const fromEngine = status >= ENGINE_STATUS && status <= ENGINE_STATUS + 2;
  if (!fromEngine) return undefined;
  if (/device driver.*gpu|cdi device|nvidia-container|nvidia\.com\/gpu|could not select device/i.test(text)) {
    return { code: "ENGINE_FAILED", message: `The engine has no GPUs to give. ${says}`, hint: gpuHint(engine.kind) };
  }
  if (/ipc namespace|ipc mode|--ipc/i.test(text) && ipc !== undefined) {
    return {
      code: "ENGINE_FAILED",
      message: `The engine can't give the container the IPC namespace "${ipc}". ${says}`,
      hint: 'Engines with user namespaces refuse it: pass engineArguments: ["--userns=host"], or go without "cuda_ipc".',
    };
  }
  if (/executable file not found|no such file or directory.*exec|command that was not found/i.test(text)) {
    return {
      code: "IMAGE_INVALID",
      message: `The image "${image}" doesn't have the program that it is to run. ${says}`,
      hint: "Its entrypoint has to take `serve --host H --port P`, as those of `tesseract build` and `tesseract-ts build` do.",
    };
  }
  if (status === ENGINE_STATUS)
    return { code: "ENGINE_FAILED", message: `The container of "${image}" can't be made. ${says}` };
  return { code: "START_FAILED", message: `The container of "${image}" can't be started. ${says}` };
}
