/** Options of a call of a Tesseract within a program. */
import type { RunOptions } from "@tesseract-ts/core";
import { programError } from "../errors.js";

/**
 * How a batch of inputs reaches a Tesseract that `vmap` was applied to.
 *
 * - `sequential`: one request for each element, one after another. Always works.
 * - `expand_dims`: one request; inputs without the batch get a dimension of size 1 in front, which the Tesseract must
 *   broadcast.
 * - `broadcast_all`: one request; inputs without the batch are repeated along it.
 * - `auto_experimental`: like `expand_dims` where the schema lets every batched input have any rank, else `sequential`.
 */
export type VmapMethod = "sequential" | "expand_dims" | "broadcast_all" | "auto_experimental";

export const vmapMethods: readonly VmapMethod[] = ["sequential", "expand_dims", "broadcast_all", "auto_experimental"];

export type Device = "cpu" | "cuda";

export interface ApplyOptions extends RunOptions {
  /** What `vmap` does with this call. Without it, `vmap` of the call is refused. */
  readonly vmapMethod?: VmapMethod | undefined;
  /**
   * For batches of tangents or cotangents at one point (`jacfwd`, `jacrev`, `vmap` of a pullback): `true` asks for the
   * Jacobian once, `false` for a product for each, as `vmapMethod` says. Left out, the Jacobian, where there is that
   * endpoint.
   */
  readonly materializeJacobian?: boolean | undefined;
  /** Whether to warn when `apply` gives another static output than `abstract_eval` announced. True if left out. */
  readonly checkStaticOutputs?: boolean | undefined;
  /** Where the call's arrays are meant to be. If left out, `cuda` if an input is a CUDA array. */
  readonly device?: Device | undefined;
  /** Brings an array that went through the host to the device, such as `DeviceArray.fromHost`. */
  readonly toDevice?: ToDevice | undefined;
  /** Told what doesn't stop a call. Written to the console if left out. */
  readonly onWarning?: ((message: string) => void) | undefined;
}

export type ToDevice = (
  array: import("@tesseract-ts/core").HostArray,
) => Promise<import("@tesseract-ts/core").CudaArray>;

export function checkApplyOptions({ vmapMethod, device }: ApplyOptions): void {
  if (vmapMethod !== undefined && !vmapMethods.includes(vmapMethod)) {
    throw programError("INVALID_ARGUMENT", `vmapMethod "${String(vmapMethod)}" isn't known`, {
      hint: `It is one of ${vmapMethods.join(", ")}.`,
    });
  }
  checkDevice(device);
}

export function checkDevice(device: Device | undefined): void {
  if (device !== undefined && device !== "cpu" && device !== "cuda") {
    throw programError("INVALID_ARGUMENT", `The device "${String(device)}" isn't known`, {
      hint: 'It is "cpu" or "cuda".',
    });
  }
}
