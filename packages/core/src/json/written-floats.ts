/**
 * Which numbers of a JSON text were written as floats (`1.0`, `1e3`): to JavaScript they are what `1` is, and to NumPy they are of
 * another dtype.
 */

const lists = new WeakSet<object>();
const members = new WeakMap<object, Set<string>>();

export function noteFloatIn(list: object): void {
  lists.add(list);
}

export function noteFloatMember(object: object, name: string): void {
  const names = members.get(object);
  if (names === undefined) members.set(object, new Set([name]));
  else names.add(name);
}

/** Whether a list, read by a `JsonReader` that notes floats, has a number that was written as one. */
export const hasWrittenFloat = (list: object): boolean => lists.has(list);

/** Whether a member of an object that such a reader has read is a number that was written as a float. */
export const isWrittenFloat = (object: object, name: string): boolean => members.get(object)?.has(name) === true;
