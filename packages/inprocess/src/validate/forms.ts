/** What forms of values there are, before any schema. */

/** An object with members: no list, no typed array, no instance of a class. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object of another realm has a prototype that itself has none.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
