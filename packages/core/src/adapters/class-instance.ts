/**
 * Whether an object is of a class. Every library's arrays are, while most objects of a tree are plain ones, which this
 * tells apart without looking at their members (those may be getters, and a plain object may have any).
 */
export function isClassInstance(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object's prototype has none itself, in whatever realm it was made.
  return prototype !== null && Object.getPrototypeOf(prototype) !== null;
}

/** An object whose members are still to be looked at. */
export type Unchecked<T> = { readonly [K in keyof T]?: unknown };
