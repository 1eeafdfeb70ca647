/** Who disposes of GPU arrays: what a request brought and an endpoint returned is the server's. */
import type { CudaArray } from "@tesseract-ts/core";

/** GPU arrays of one call, disposed of together. Those without `Symbol.dispose` are left to whoever made them. */
export class DeviceMemory implements Disposable {
  private readonly arrays = new Set<Disposable>();

  /** Takes what is a GPU array of `value`, a tree that has been decoded or returned. */
  take(value: unknown): void {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
    if ("cudaArrayInterface" in value) this.add(value as CudaArray);
    else for (const member of Array.isArray(value) ? value : Object.values(value)) this.take(member);
  }

  [Symbol.dispose](): void {
    for (const array of this.arrays) array[Symbol.dispose]();
    this.arrays.clear();
  }

  private add(array: CudaArray & Partial<Disposable>): void {
    if (typeof array[Symbol.dispose] === "function") this.arrays.add(array as CudaArray & Disposable);
  }
}
