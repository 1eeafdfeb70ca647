// What a request leads to, in a form in which answers from Python and from TypeScript can be compared.
import {
  bytesOf,
  type HostArray,
  isDType,
  isHostArray,
  makeHostArray,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";
import { createRunner, type RunnerRoute, UndecodableArray } from "../../src/index.js";
import type { FixtureName, Payload } from "./payloads.js";
import arrays from "./twins/arrays.js";
import limits from "./twins/limits.js";
import plain from "./twins/plain.js";
import trees from "./twins/trees.js";
import vectors from "./twins/vectors.js";

export interface Issue {
  readonly type: string;
  readonly loc: readonly (string | number)[];
  readonly ctx?: unknown;
}

export type Outcome =
  | { readonly status: 200; readonly answer: unknown }
  | { readonly status: 422; readonly issues: readonly Issue[] }
  | { readonly status: 404 | 500 };

export const twins = { arrays, limits, plain, trees, vectors } as const satisfies Record<FixtureName, unknown>;

const runners = Object.fromEntries(Object.entries(twins).map(([name, twin]) => [name, createRunner(twin)]));

/** The outcome in this process. */
export async function outcomeHere({ fixture, route, body }: Payload): Promise<Outcome> {
  const runner = runners[fixture];
  if (runner === undefined) throw new Error(`no twin of ${fixture}`);
  const payload: unknown = structuredClone(body);
  try {
    for (const place of runner.encodedArrays(route as RunnerRoute, payload)) place.put(decode(place));
    const answer = await runner.run({ route: route as RunnerRoute, payload, context, ownsInputs: true });
    if (answer.kind === "answered") return { status: 200, answer: toWire(answer.outputs) };
    return { status: 422, issues: answer.issues.map((issue) => comparable({ ...issue, loc: ["body", ...issue.loc] })) };
  } catch (error) {
    if (!(error instanceof TesseractError)) throw error;
    if (error.code === "ENDPOINT_NOT_FOUND") return { status: 404 };
    if (error.code === "ENDPOINT_FAILED" || error.code === "INVALID_OUTPUTS") return { status: 500 };
    throw error;
  }
}

const context = {
  signal: new AbortController().signal,
  runId: "parity",
  outputDirectory: () => Promise.reject(new Error("no files here")),
  log: () => {},
};

function decode({
  data,
  dtype,
  shape,
}: {
  data: { encoding: string; buffer: unknown };
  dtype: string;
  shape: readonly number[];
}) {
  const { encoding, buffer } = data;
  if (encoding !== "base64" || typeof buffer !== "string") return new UndecodableArray(encoding, "it isn't offered");
  if (!isDType(dtype)) return new UndecodableArray(encoding, `no dtype ${dtype}`);
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(buffer)) return new UndecodableArray(encoding, "it is no base64");
  const bytes = Uint8Array.from(Buffer.from(buffer, "base64"));
  const count = shape.reduce((product, size) => product * size, 1);
  try {
    const data = viewAs(dtype, bytes.buffer, 0, count);
    if (data.byteLength !== bytes.byteLength) return new UndecodableArray(encoding, "its length doesn't fit");
    return makeHostArray(dtype, shape, data);
  } catch (error) {
    return new UndecodableArray(encoding, String(error));
  }
}

/** The outputs as the reference writes them in `json+base64`. */
function toWire(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return typeof value === "bigint" ? Number(value) : value;
  if (isHostArray(value)) return encodedOf(value);
  if (Array.isArray(value)) return value.map(toWire);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toWire(member)]));
}

const encodedOf = (array: HostArray): object => ({
  object_type: "array",
  shape: array.shape,
  dtype: array.dtype,
  data: { buffer: Buffer.from(bytesOf(array)).toString("base64"), encoding: "base64" },
});

/** What of an issue is the same in both languages: all but the wording, and the names of Python's own things. */
export function comparable({ type, loc, ctx }: Issue): Issue {
  const path = loc.map((part) =>
    // The reference names an array among a union's options by a function's address.
    typeof part === "string" && /^(json-or-python\[|function-after\[)/.test(part) ? "array" : part,
  );
  const context = typeof ctx === "object" && ctx !== null ? { ...(ctx as Record<string, unknown>) } : {};
  // A reason in words.
  delete context.error;
  delete context.no_cast_reason;
  return { type, loc: path, ctx: context };
}

/** The outcome that an answer of a server tells. */
export function outcomeOf(status: number, body: unknown): Outcome {
  if (status === 200) return { status, answer: body };
  if (status === 404 || status === 500) return { status };
  const { detail } = body as { readonly detail: readonly Issue[] };
  if (status === 422) return { status, issues: detail.map(comparable) };
  throw new Error(`unexpected status ${status}`);
}
