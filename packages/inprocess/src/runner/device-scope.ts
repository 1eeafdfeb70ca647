/** GPU arrays as endpoints see them: the caller's own buffers, for the length of a call. */
import { type CudaArray, type CudaArrayInterface, type HostArray, TesseractError } from "@tesseract-ts/core";
import type { EndpointContext } from "../definition.js";

/**
 * The GPU arrays of one call. An endpoint gets each wrapped, without a copy; after the call the wrappers are dead, so that
 * one that is kept can't reach memory that the caller may have freed.
 */
export class DeviceScope {
  private ended = false;
  private followed: AbortSignal | undefined;

  /**
   * @param borrowed whether the arrays are the caller's: endpoints are told not to write to them, and they are gone once
   *   the caller has given up, since it may free them then
   * @param context whose signal is aborted when the caller gives up; it is read only where there are GPU arrays
   */
  constructor(
    private readonly borrowed: boolean,
    private readonly context: Pick<EndpointContext, "signal">,
  ) {}

  /** What an endpoint gets for an array. */
  readonly wrap = (array: CudaArray): CudaArray => {
    if (array instanceof BorrowedArray) return array;
    if (this.borrowed && this.followed === undefined) {
      this.followed = this.context.signal;
      this.followed.addEventListener("abort", this.end, { once: true });
    }
    return new BorrowedArray(this, array);
  };

  /** The array itself, of one that an endpoint gives back. */
  readonly unwrap = (array: CudaArray): CudaArray => (array instanceof BorrowedArray ? array.lent : array);

  readonly end = (): void => {
    this.ended = true;
    this.followed?.removeEventListener("abort", this.end);
  };

  /** @internal */
  check(): void {
    if (!this.ended) return;
    throw new TesseractError("DISPOSED", "A GPU array was used after the call that an endpoint was given it for", {
      hint: "It is the caller's. Within the call, copy what is needed later, and await the work that uses the array.",
    });
  }

  /** @internal */
  interfaceOf(array: CudaArray): CudaArrayInterface {
    this.check();
    const found = array.cudaArrayInterface;
    if (!this.borrowed || found.data[1]) return found;
    return { ...found, data: [found.data[0], true] };
  }
}

class BorrowedArray implements CudaArray {
  readonly #scope: DeviceScope;
  readonly #array: CudaArray;
  readonly copyToHost?: NonNullable<CudaArray["copyToHost"]>;

  constructor(scope: DeviceScope, array: CudaArray) {
    this.#scope = scope;
    this.#array = array;
    if (array.copyToHost === undefined) return;
    // A member only where the array has one, as callers look for it.
    this.copyToHost = async (options): Promise<HostArray> => {
      scope.check();
      return (array.copyToHost as NonNullable<CudaArray["copyToHost"]>)(options);
    };
  }

  get cudaArrayInterface(): CudaArrayInterface {
    return this.#scope.interfaceOf(this.#array);
  }

  get device(): string {
    this.#scope.check();
    return this.#array.device as string;
  }

  get lent(): CudaArray {
    return this.#array;
  }
}
