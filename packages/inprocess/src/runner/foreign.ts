/** Arrays of other libraries among an endpoint's results. */
import { type ArrayAdapter, asCudaArray, isHostArray } from "@tesseract-ts/core";
import { isRecord } from "../validate/forms.js";

/** The tree with such arrays read. Without any, it is the tree itself, and no promise. */
export function readForeign(tree: unknown, adapters: readonly ArrayAdapter[]): unknown {
  const reading: Promise<void>[] = [];
  const read = (value: unknown, put: (array: unknown) => void): unknown => {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || isHostArray(value)) return value;
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : visitList(value);
    if (isRecord(value)) return visitRecord(value);
    if (asCudaArray(value) !== undefined) return value;
    for (const adapter of adapters) {
      const adapted = adapter.adapt(value);
      if (adapted === undefined) continue;
      reading.push(Promise.resolve(adapted.read()).then(put));
      return value;
    }
    return value;
  };
  const visitList = (list: readonly unknown[]): unknown[] => {
    const copy: unknown[] = [];
    list.forEach((item, index) => {
      copy[index] = read(item, (array) => {
        copy[index] = array;
      });
    });
    return copy;
  };
  const visitRecord = (record: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const copy: Record<string, unknown> = Object.create(null);
    for (const [key, member] of Object.entries(record)) {
      copy[key] = read(member, (array) => {
        copy[key] = array;
      });
    }
    return copy;
  };
  let root: unknown;
  root = read(tree, (array) => {
    root = array;
  });
  return reading.length === 0 ? tree : Promise.all(reading).then(() => root);
}
