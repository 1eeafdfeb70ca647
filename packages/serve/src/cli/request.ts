/** Reads the JSON that a command is given: in its arguments, from a file, or from standard input. */
import { createReadStream } from "node:fs";
import { dirname, resolve } from "node:path";
import { type HostArray, type HostTransport, hostArray, isHostArray, TesseractError } from "@tesseract-ts/core";
import { checkEncodedArray, JsonReader, JsonSyntaxError } from "@tesseract-ts/core/message";
import { base64, binref, json } from "@tesseract-ts/transport-host";
import { UsageError } from "./failure.js";
import type { ApplySchemas, SchemaTree } from "./schema/schema-tree.js";
import { oneLine } from "./terminal/style.js";
import type { Terminal } from "./terminal/terminal.js";

export type Tree = { readonly [member: string]: unknown };

/** Characters around a mistake that are shown. */
const AROUND = 24;

/** What was given, and where `binref` files beside it would be. */
export interface GivenJson {
  readonly value: Tree;
  readonly directory: string;
}

/**
 * @param given JSON, `@FILE`, or `-` for standard input
 * @param what for messages: "the request"
 * @throws UsageError
 */
export async function readJson(given: string, what: string, terminal: Terminal): Promise<GivenJson> {
  if (given === "-")
    return { value: await parsed(terminal.input, `${what} on standard input`), directory: terminal.directory };
  if (given.startsWith("@")) return readJsonFile(given.slice(1), terminal);
  return { value: await parsed([Buffer.from(given)], what), directory: terminal.directory };
}

/** @throws UsageError */
export async function readJsonFile(name: string, { directory }: Pick<Terminal, "directory">): Promise<GivenJson> {
  const path = resolve(directory, name);
  try {
    return { value: await parsed(createReadStream(path), name), directory: dirname(path) };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    const reason = code === "ENOENT" ? "there is no such file" : code === "EISDIR" ? "it is a folder" : String(error);
    throw new UsageError(`${name} can't be read: ${reason}`, `It was looked for at ${path}.`);
  }
}

async function parsed(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, what: string): Promise<Tree> {
  const reader = new JsonReader();
  const head: Uint8Array[] = [];
  let value: unknown;
  try {
    for await (const chunk of chunks) {
      const bytes = Buffer.from(chunk);
      head.push(bytes);
      reader.write(bytes);
    }
    value = reader.end();
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const text = Buffer.concat(head);
    const { offset, message } = error;
    const before = text.subarray(Math.max(0, offset - AROUND), offset).toString();
    const after = text.subarray(offset, offset + AROUND).toString();
    const hint =
      text.length === 0 ? "It is empty." : `It goes wrong where the arrow is: ${oneLine(`${before}→${after}`)}`;
    throw new UsageError(`${what} isn't JSON: ${message}`, hint);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Tree;
  throw new UsageError(`${what} is no JSON object`, `Such as '{"x": [1, 2, 3]}'.`);
}

/**
 * The request that was meant. An object whose only member is `inputs` is one already, as is one with the other members of
 * the endpoint's request; anything else is taken for the inputs.
 */
export function requestOf(given: Tree, others: readonly string[]): Tree & { readonly inputs: Tree } {
  const names = Object.keys(given);
  const isRequest = isTree(given.inputs) && names.every((name) => name === "inputs" || others.includes(name));
  return isRequest ? (given as Tree & { inputs: Tree }) : { inputs: given };
}

/**
 * A copy of the tree with its encoded arrays as arrays.
 *
 * @param directory that `binref` files are in
 */
export async function decoded(tree: Tree, directory: string): Promise<Tree> {
  const transports: readonly HostTransport[] = [base64(), json(), binref({ outputPath: directory })];
  const visit = async (value: unknown, path: string): Promise<unknown> => {
    if (Array.isArray(value)) return Promise.all(value.map((item, index) => visit(item, `${path}.[${index}]`)));
    if (typeof value !== "object" || value === null) return value;
    if (isEncoded(value)) return decodeArray(value, path);
    const members = Object.entries(value).map(
      async ([name, member]): Promise<[string, unknown]> => [
        name,
        await visit(member, path === "" ? name : `${path}.${name}`),
      ],
    );
    return Object.fromEntries(await Promise.all(members));
  };
  const decodeArray = async (value: Tree, path: string): Promise<HostArray> => {
    const array = checkEncodedArray(value, path);
    const { encoding } = array.data;
    const transport = transports.find(({ name, aliases = [] }) => name === encoding || aliases.includes(encoding));
    const [result] = (await transport?.decode([array], {})) ?? [];
    if (result !== undefined) return result;
    throw new UsageError(`${path} is an array in the encoding "${encoding}", which can't be read from a file`);
  };
  return (await visit(tree, "")) as Tree;
}

/** `object_type` may be left out of a request. */
const isEncoded = (value: object): value is Tree =>
  "shape" in value && "dtype" in value && "data" in value && isTree(value.data) && "encoding" in value.data;

/**
 * The tree with arrays where the schema has them: numbers in lists become arrays of the schema's dtype, and arrays that have a
 * default and aren't there are put in.
 */
export function withArrays(schemas: ApplySchemas, inputs: Tree): Tree {
  const ofModel = (name: string, value: Tree): Tree => {
    const fields = schemas.models.get(name)?.fields ?? [];
    const missing = fields.flatMap(({ name: field, tree }) =>
      !Object.hasOwn(value, field) && tree.kind === "array" && tree.fallback?.value != null
        ? [[field, tree.fallback.value]]
        : [],
    );
    return Object.fromEntries(
      [...Object.entries(value), ...missing].map(([field, member]) => {
        const found = fields.find((each) => each.name === field);
        return [field, found === undefined ? member : visit(found.tree, member, String(field))];
      }),
    );
  };
  const visit = (tree: SchemaTree, value: unknown, path: string): unknown => {
    switch (tree.kind) {
      case "array":
        return toArray(tree, value, path);
      case "object":
        return isTree(value) ? ofModel(tree.model, value) : value;
      case "list":
        return Array.isArray(value) ? value.map((item, index) => visit(tree.item, item, `${path}.[${index}]`)) : value;
      case "tuple":
        return Array.isArray(value)
          ? value.map((item, index) => visit(tree.items[index] ?? { kind: "any" }, item, `${path}.[${index}]`))
          : value;
      case "record":
        return isTree(value)
          ? Object.fromEntries(
              Object.entries(value).map(([key, item]) => [key, visit(tree.value, item, `${path}.{${key}}`)]),
            )
          : value;
      case "union": {
        const fitting = tree.options.find((option) => fits(option, value));
        return fitting === undefined ? value : visit(fitting, value, path);
      }
      default:
        return value;
    }
  };
  return ofModel(schemas.inputs, inputs);
}

const fits = ({ kind }: SchemaTree, value: unknown): boolean =>
  (kind === "array" && (isHostArray(value) || typeof value === "number" || Array.isArray(value))) ||
  (kind === "object" && isTree(value)) ||
  (kind === "record" && isTree(value)) ||
  (kind === "list" && Array.isArray(value));

function toArray({ dtype }: Extract<SchemaTree, { kind: "array" }>, value: unknown, path: string): HostArray | unknown {
  if (isHostArray(value)) return value;
  try {
    const list = value as Parameters<typeof hostArray>[0];
    return dtype === undefined ? hostArray(list) : hostArray(list, { dtype });
  } catch (error) {
    throw new UsageError(
      `${path} is no array${dtype === undefined ? "" : ` of ${dtype}`}: ${error instanceof TesseractError ? error.message : String(error)}`,
      "Give numbers in lists, or an encoded array.",
    );
  }
}

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !isHostArray(value);
