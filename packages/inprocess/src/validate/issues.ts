/** Where a request doesn't fit, and why. */
import type { RequestIssue } from "../runner/contract.js";

/** A place in a tree, as a list from the leaf up: a path is only put together where something is wrong. */
export interface Place {
  readonly parent: Place | undefined;
  readonly key: string | number;
}

export function locationOf(place: Place | undefined): (string | number)[] {
  const location: (string | number)[] = [];
  for (let at = place; at !== undefined; at = at.parent) location.push(at.key);
  return location.reverse();
}

/** What is wrong with a value, without its place. */
export interface Fault {
  readonly type: string;
  readonly msg: string;
  readonly ctx?: { readonly [name: string]: unknown };
}

export const issueAt = (place: Place | undefined, { type, msg, ctx }: Fault, input: unknown): RequestIssue => ({
  type,
  loc: locationOf(place),
  msg,
  input,
  ...(ctx === undefined ? {} : { ctx }),
});

/** A fault that a rule of the schema's, not the form of the value, gives rise to. */
export const valueError = (reason: string): Fault => ({
  type: "value_error",
  msg: reason,
  ctx: { error: {} },
});

/** `'a', 'b' or 'c'`, as Python writes strings. */
export const oneOf = (values: readonly unknown[]): string => {
  const names = values.map((value) => (typeof value === "string" ? `'${value}'` : pythonWord(value)));
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
};

/** A plain value as Python prints it. */
export const pythonWord = (value: unknown): string =>
  value === true ? "True" : value === false ? "False" : value === null ? "None" : String(value);
