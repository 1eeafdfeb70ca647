/** Finds the arrays in a client's inputs. */
import type { ArrayAdapter } from "../adapters/adapter.js";
import { isClassInstance } from "../adapters/class-instance.js";
import { loadPart } from "../load-part.js";
import { type FindArray, findHostArray } from "./leaves.js";

/** What knows the arrays of GPUs and of other libraries is loaded when a tree may have one for the first time. */
export class ArrayFinder {
  private find: FindArray;

  /** @param adapters the user's own */
  constructor(private readonly adapters: readonly ArrayAdapter[]) {
    this.find = (value) => {
      const array = findHostArray(value);
      if (array === undefined && (adapters.length > 0 || mayBeForeign(value))) throw notLoaded;
      return array;
    };
  }

  /**
   * Runs `work`, again once all has been loaded that it needs: so it must have found all arrays before it does anything
   * with one.
   *
   * @throws TesseractError LOAD_FAILED; what `work` throws
   */
  async use<T>(work: (find: FindArray) => T | Promise<T>): Promise<T> {
    try {
      return await work(this.find);
    } catch (error) {
      if (error !== notLoaded) throw error;
      const { builtinAdapters, findForeignArray } = await loadPart(() => import("#foreign-arrays"));
      const adapters = [...builtinAdapters, ...this.adapters];
      this.find = (value) => findHostArray(value) ?? findForeignArray(value, adapters);
      return work(this.find);
    }
  }
}

const notLoaded = new Error("What knows this array isn't loaded");

/** The built-in adapters know instances of classes only. */
const mayBeForeign = (value: object): boolean =>
  isClassInstance(value) || "cudaArrayInterface" in value || "__cuda_array_interface__" in value;
