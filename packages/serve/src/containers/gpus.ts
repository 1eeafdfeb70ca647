/** How engines are told which GPUs a container gets. */
import { TesseractError } from "@tesseract-ts/core";
import type { Engine } from "./engine.js";

/**
 * @param gpus `["all"]`, or ordinals and UUIDs as `nvidia-smi -L` lists them
 * @throws TesseractError INVALID_ARGUMENT
 */
export function gpuArguments(kind: Engine["kind"], gpus: readonly (string | number)[]): readonly string[] {
  const ids = gpus.map(String);
  for (const id of ids) {
    if (!/^(all|\d+|(GPU|MIG)-[\w/-]+|\d+:\d+)$/.test(id)) {
      throw new TesseractError("INVALID_ARGUMENT", `"${id}" names no GPU`, {
        hint: 'Pass gpus: ["all"], or numbers and UUIDs of `nvidia-smi -L`: gpus: [0], gpus: ["GPU-…"].',
      });
    }
  }
  if (ids.length === 0) return [];
  // Podman before 5 takes --gpus and does nothing. What it calls devices is the Container Device Interface's.
  if (kind === "podman") return ids.flatMap((id) => ["--device", `nvidia.com/gpu=${id}`]);
  // The engine reads the value as CSV: the quotes keep the list in one field.
  return ["--gpus", ids.includes("all") ? "all" : `"device=${ids.join(",")}"`];
}

/** What to do when an engine has no GPUs to give. */
export const gpuHint = (kind: Engine["kind"]): string =>
  kind === "podman"
    ? "Install the NVIDIA Container Toolkit, and describe the GPUs to podman: `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml`."
    : "Install the NVIDIA Container Toolkit, and tell docker: `nvidia-ctk runtime configure --runtime=docker`, then restart it.";
