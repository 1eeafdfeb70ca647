/** Finds the arrays in a tree of inputs. */
import type { ArrayAdapter } from "../adapters/adapter.js";
import type { CudaArray } from "../arrays/cuda-array.js";
import type { DType, TypedArray } from "../arrays/dtype.js";
import { checkHostArray, type HostArray, hostArrayOver, isHostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import { MAX_DEPTH } from "../json/writer.js";
import { findForeignArray } from "./foreign-arrays.js";

/** An array of a request, wherever it lives. */
export interface FoundArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly cuda?: CudaArray;
  /** Its elements in the host's memory. */
  host(): HostArray | Promise<HostArray>;
}

/**
 * The array that an object of a tree is, or undefined if it is none.
 *
 * @throws TesseractError INVALID_ARRAY, UNSUPPORTED_DTYPE
 */
export type FindArray = (value: object) => FoundArray | undefined;

/**
 * Copies a tree, with each array replaced by what `replace` makes of it.
 *
 * @throws TesseractError INVALID_TREE, INVALID_ARRAY, UNSUPPORTED_DTYPE; each names the place
 */
export const mapArrays = (
  tree: unknown,
  adapters: readonly ArrayAdapter[],
  replace: (array: FoundArray) => unknown,
): unknown => replaceArrays(tree, (value) => findHostArray(value) ?? findForeignArray(value, adapters), replace);

/** As {@link mapArrays}, with the arrays that `find` finds. */
export function replaceArrays(tree: unknown, find: FindArray, replace: (array: FoundArray) => unknown): unknown {
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
    const array = Array.isArray(value) ? undefined : at(path, () => find(value));
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

/** The array in the host's memory that `value` is, if it is one. */
export function findHostArray(value: object): FoundArray | undefined {
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return found(hostArrayOver(value as TypedArray));
  if (!isHostArray(value)) return undefined;
  checkHostArray(value);
  return found(value);
}

const found = (array: HostArray): FoundArray => ({ dtype: array.dtype, shape: array.shape, host: () => array });

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
