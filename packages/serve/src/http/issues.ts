/** What a refused request is told of its own content. */
import { elementCount, type HostArray, isHostArray, toNestedList } from "@tesseract-ts/core";
import { type RequestIssue, UndecodableArray } from "@tesseract-ts/inprocess";
import type { Issue } from "./refusal.js";

/** Values that an issue repeats of the request; with more, it repeats nothing. */
const MOST_VALUES = 1000;

/** As FastAPI writes them: from the body on. */
export const issuesOf = (issues: readonly RequestIssue[]): readonly Issue[] =>
  issues.map(({ type, loc, msg, input, ctx }) => ({
    type,
    loc: ["body", ...loc],
    msg,
    ...repeated(input),
    ...(ctx === undefined ? {} : { ctx }),
  }));

function repeated(input: unknown): { readonly input?: unknown } {
  let left = MOST_VALUES;
  const plain = (value: unknown): unknown => {
    left -= 1;
    if (left < 0) throw tooMuch;
    if (typeof value === "number") return Number.isFinite(value) ? value : null;
    if (typeof value === "string" && value.length > MOST_VALUES) throw tooMuch;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map(plain);
    if (isHostArray(value)) return encoded(value);
    if (value instanceof UndecodableArray || "cudaArrayInterface" in value) throw tooMuch;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
  };
  const encoded = (array: HostArray): unknown => {
    left -= elementCount(array.shape);
    if (left < 0) throw tooMuch;
    const { shape, dtype } = array;
    return { object_type: "array", shape, dtype, data: { encoding: "json", buffer: plain(toNestedList(array)) } };
  };
  try {
    return input === undefined ? {} : { input: plain(input) };
  } catch (error) {
    if (error !== tooMuch) throw error;
    return {};
  }
}

const tooMuch = new Error("Too much to repeat");
