/** Finds the arrays in a tree of inputs. */

import type { ArrayAdapter } from "../adapters/adapter.js";
import { asCudaArray, type CudaArray, dtypeOfTypestr } from "../arrays/cuda-array.js";
import type { DType, TypedArray } from "../arrays/dtype.js";
import { checkHostArray, type HostArray, hostArray, isHostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import { MAX_DEPTH } from "../json/writer.js";

/** An array of a request, wherever it lives. */
export interface FoundArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly cuda?: CudaArray;
  /** Its elements in the host's memory. */
  host(): HostArray | Promise<HostArray>;
}

/**
 * Copies a tree, with each array replaced by what `replace` makes of it.
 *
 * @throws TesseractError INVALID_TREE, INVALID_ARRAY, UNSUPPORTED_DTYPE; each names the place
 */
export function mapArrays(
  tree: unknown,
  adapters: readonly ArrayAdapter[],
  replace: (array: FoundArray) => unknown,
): unknown {
  const ancestors = new Set<object>();
  const visit = (value: unknown, path: string): unknown => {
    switch (typeof value) {
      case "string":
      case "boolean":
      case "bigint":
      case "undefined":
        return value;
      case "number":
        if (Number.isFinite(value)) return value;
        throw invalidTree(
          path,
          `${value} can't be sent as a plain number`,
          `Send it as an array: hostArray(${value}).`,
        );
      case "object":
        return value === null ? null : visitObject(value, path);
      default:
        throw invalidTree(path, `a ${typeof value} can't be sent`);
    }
  };
  const visitObject = (value: object, path: string): unknown => {
    const array = at(path, () => findArray(value, adapters));
    if (array !== undefined) return replace({ ...array, host: () => at(path, array.host) });
    if (ancestors.has(value)) throw invalidTree(path, "the tree contains itself");
    if (ancestors.size >= MAX_DEPTH) throw invalidTree(path, `the tree is nested more than ${MAX_DEPTH} levels deep`);
    ancestors.add(value);
    const copy = Array.isArray(value) ? visitList(value, path) : visitRecord(value, path);
    ancestors.delete(value);
    return copy;
  };
  const visitList = (list: readonly unknown[], path: string): unknown[] =>
    Array.from(list, (item, index) => {
      // The usual item of a long list, for which no path is put together.
      if (typeof item === "number" && Number.isFinite(item)) return item;
      if (item === undefined) throw invalidTree(`${path}.[${index}]`, "undefined can't be sent in a list");
      return visit(item, `${path}.[${index}]`);
    });
  const visitRecord = (record: object, path: string): object => {
    if (!isPlainObject(record)) {
      const name = record.constructor?.name ?? "object without a class";
      throw invalidTree(path, `a ${name} is neither an array nor a plain object`, hintFor(record));
    }
    // fromEntries defines own members, so that a key "__proto__" stays a key.
    return Object.fromEntries(Object.entries(record).map(([key, member]) => [key, visit(member, `${path}.${key}`)]));
  };
  return visit(tree, "");
}

function findArray(value: object, adapters: readonly ArrayAdapter[]): FoundArray | undefined {
  if (ArrayBuffer.isView(value)) {
    if (value instanceof DataView) return undefined;
    return found(hostArray(value as TypedArray));
  }
  if (Array.isArray(value)) return undefined;
  if (isHostArray(value)) {
    checkHostArray(value);
    return found(value);
  }
  const cuda = asCudaArray(value);
  if (cuda !== undefined) return foundOnDevice(cuda);
  for (const adapter of adapters) {
    const adapted = adapter.adapt(value);
    if (adapted === undefined) continue;
    return {
      dtype: adapted.dtype,
      shape: adapted.shape,
      host: () => readFrom(adapter.name, () => adapted.read()),
    };
  }
  return undefined;
}

const found = (array: HostArray): FoundArray => ({ dtype: array.dtype, shape: array.shape, host: () => array });

function foundOnDevice(cuda: CudaArray): FoundArray {
  const { typestr, shape } = cuda.cudaArrayInterface;
  return {
    dtype: dtypeOfTypestr(typestr),
    shape,
    cuda,
    host: async () => {
      forbidIfAsked();
      if (cuda.copyToHost === undefined) {
        throw new TesseractError("INVALID_ARRAY", "A GPU array has no copyToHost(), so it can't go through the host", {
          hint: "Give it a method copyToHost() that resolves to a HostArray, or use a GPU transport.",
        });
      }
      const { copyToHost } = cuda;
      return readFrom("the GPU", () => copyToHost.call(cuda));
    },
  };
}

/** Runs another library's code, whose errors are then told from this project's own. */
async function readFrom(source: string, read: () => HostArray | Promise<HostArray>): Promise<HostArray> {
  let array: HostArray;
  try {
    array = await read();
  } catch (error) {
    if (error instanceof TesseractError) throw error;
    throw new TesseractError("INVALID_ARRAY", `An array can't be read from ${source}: ${String(error)}`, {
      cause: error,
    });
  }
  checkHostArray(array);
  return array;
}

/** The reference reads the same variable, with the same values. */
function forbidIfAsked(): void {
  const { process } = globalThis as {
    readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  };
  const value = process?.env?.TESSERACT_FORBID_DEVICE_HOST_COPY?.toLowerCase();
  if (value !== "1" && value !== "true") return;
  throw new TesseractError("HOST_COPY_FORBIDDEN", "A GPU array would be copied to the host, which is forbidden here", {
    hint: "Use a GPU transport, call copyToHost() yourself, or unset TESSERACT_FORBID_DEVICE_HOST_COPY.",
  });
}

function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm has a prototype that itself has none.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function hintFor(value: object): string | undefined {
  if (value instanceof ArrayBuffer) return "Say what its elements are: new Float64Array(buffer).";
  if (value instanceof Map) return "Use Object.fromEntries(map).";
  if (value instanceof Promise) return "Await it first.";
  return "Arrays of other libraries come in through an adapter; see the option `adapters`.";
}

/** Runs `work`, adding the place in the tree to what it throws, or rejects with. */
function at<T>(path: string, work: () => T): T {
  const placed = (error: unknown): unknown =>
    error instanceof TesseractError
      ? new TesseractError(error.code, `${placeOf(path)}: ${error.message}`, { hint: error.hint, cause: error })
      : error;
  try {
    const result = work();
    if (!(result instanceof Promise)) return result;
    return result.catch((error) => {
      throw placed(error);
    }) as T;
  } catch (error) {
    throw placed(error);
  }
}

const invalidTree = (path: string, message: string, hint?: string): TesseractError =>
  new TesseractError("INVALID_TREE", `${placeOf(path)}: ${message}`, { hint });

const placeOf = (path: string): string => (path === "" ? "The request" : path.replace(/^\./, ""));
