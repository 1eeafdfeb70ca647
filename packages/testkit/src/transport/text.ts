/** How a message crosses: as JSON text, made and read as core does. */
import { type EncodedArray, type HostTransport, isDType, TesseractError, type TextSource } from "@tesseract-ts/core";
import { JsonBody, JsonReader, JsonSyntaxError } from "@tesseract-ts/core/message";
import { sameBytes } from "../arrays.js";

/** The text of encoded arrays, and what is wrong with its sources. */
export async function textOf(
  arrays: readonly EncodedArray[],
): Promise<{ readonly text: Uint8Array; readonly problems: readonly string[] }> {
  const problems: string[] = [];
  for (const [index, { data }] of arrays.entries()) {
    const { buffer } = data;
    if (isTextSource(buffer)) problems.push(...(await problemsOf(buffer)).map((each) => `array ${index + 1}: ${each}`));
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of JsonBody.of(arrays).chunks()) chunks.push(chunk.slice());
  return { text: joined(chunks), problems };
}

const isTextSource = (value: unknown): value is TextSource =>
  typeof value === "object" && value !== null && "chunks" in value && "as" in value;

async function problemsOf(source: TextSource): Promise<string[]> {
  const problems: string[] = [];
  const first = await collect(source, problems);
  const second = await collect(source, problems);
  if (!sameBytes(first, second)) problems.push("its text source gives another text when it is asked again");
  if (source.byteLength !== undefined && source.byteLength !== first.length) {
    problems.push(`its text source says ${source.byteLength} bytes and gives ${first.length}`);
  }
  const { text } = source as { text?(): string };
  if (text !== undefined && !sameBytes(new TextEncoder().encode(text.call(source)), first)) {
    problems.push("its text source's text() is another text than its chunks");
  }
  try {
    const quote = source.as === "string" ? '"' : "";
    new TextDecoder("utf-8", { fatal: true }).decode(first);
    const reader = new JsonReader();
    for (const part of [new TextEncoder().encode(quote), first, new TextEncoder().encode(quote)]) reader.write(part);
    reader.end();
  } catch (error) {
    problems.push(`its text source, as ${source.as}, is no valid JSON: ${String(error)}`);
  }
  return problems;
}

/** A chunk is looked at again when the next has come, until which it must stay as it is. */
async function collect(source: TextSource, problems: string[]): Promise<Uint8Array> {
  const copies: Uint8Array[] = [];
  let last: { readonly chunk: Uint8Array; readonly copy: Uint8Array } | undefined;
  let changed = false;
  for await (const chunk of source.chunks()) {
    if (last !== undefined && !sameBytes(last.chunk, last.copy)) changed = true;
    last = { chunk, copy: chunk.slice() };
    copies.push(last.copy);
  }
  if (changed) problems.push("its text source changes a chunk when the next one is asked for");
  return joined(copies);
}

function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/**
 * Reads a message's text as it arrives, in pieces of `most` bytes.
 *
 * @throws TesseractError, and what a sink throws
 */
export function treeOf(text: Uint8Array, most: number, openBuffer?: HostTransport["openBuffer"]): unknown {
  const reader = new JsonReader({ byteLength: text.length, ...(openBuffer === undefined ? {} : { openBuffer }) });
  try {
    for (let at = 0; at < text.length; at += most) reader.write(text.slice(at, at + most));
    return reader.end();
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new TesseractError("MALFORMED_RESPONSE", error.message, { cause: error });
  }
}

/** The text of a tree that isn't to be trusted. */
export async function textOfTree(tree: unknown): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of JsonBody.of(tree).chunks()) chunks.push(chunk.slice());
  return joined(chunks);
}

/** What is wrong with the members of an encoded array. */
export function problemOfArray(
  array: EncodedArray,
  expected: { dtype: string; shape: readonly number[] },
): string | undefined {
  if (array.object_type !== undefined && array.object_type !== "array")
    return `its object_type is ${array.object_type}`;
  if (!isDType(array.dtype) || array.dtype !== expected.dtype)
    return `its dtype is ${array.dtype}, not ${expected.dtype}`;
  if (JSON.stringify(array.shape) !== JSON.stringify(expected.shape)) {
    return `its shape is ${JSON.stringify(array.shape)}, not ${JSON.stringify(expected.shape)}`;
  }
  if (typeof array.data !== "object" || array.data === null || typeof array.data.encoding !== "string") {
    return "it has no data with an encoding";
  }
  return "buffer" in array.data ? undefined : "its data has no buffer";
}
