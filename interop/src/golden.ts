// The recorded output of the reference runtime, made by `golden/make_golden.py`: no Python needed to read it.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { RuntimeVersion } from "./python.js";

export type GoldenEncoding = "json" | "base64" | "base64-lz4" | "binref" | "binref-lz4";

export const goldenEncodings: readonly GoldenEncoding[] = ["json", "base64", "base64-lz4", "binref", "binref-lz4"];

export interface EncodedArray {
  object_type: "array";
  shape: number[];
  dtype: string;
  /** `buffer` of a `json` array is nested lists of what `dtype` asks for, or one such value. */
  data: { encoding: "json" | "base64" | "binref"; buffer: unknown; compression?: "lz4" };
}

export interface GoldenVector {
  /** `<dtype> scalar | vector | matrix | empty | special`, and a few more. */
  name: string;
  dtype: string;
  shape: number[];
  /** The array as the runtime sent it. `JSON.parse` made it, so a 64-bit integer may have lost digits here. */
  encoded: EncodedArray;
  /** The same as the very text that was sent. */
  encodedText: string;
  /** The true values: C order, little endian. */
  bytes: Uint8Array;
}

/** The folder that the `binref` vectors' paths start from. */
export const goldenBinrefPath = fileURLToPath(new URL("../golden/vectors/", import.meta.url));

/** Every array of the golden set, in one encoding. */
export function goldenVectors(encoding: GoldenEncoding): GoldenVector[] {
  const text = readFileSync(new URL(`../golden/vectors/${encoding}.json`, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map(readVector);
}

function readVector(line: string): GoldenVector {
  const entry = line.replace(/,$/, "");
  const { name, dtype, shape, hex, encoded }: Omit<GoldenVector, "bytes" | "encodedText"> & { hex: string } =
    JSON.parse(entry);
  const marker = ',"encoded":';
  const encodedText = entry.slice(entry.indexOf(marker) + marker.length, -1);
  return { name, dtype, shape, encoded, encodedText, bytes: new Uint8Array(Buffer.from(hex, "hex")) };
}

export interface GoldenAnswer {
  name: string;
  /** A body that wasn't UTF-8 is written with one character for each byte. */
  request: { method: string; path: string; headers: Record<string, string>; body: string | null };
  status: number;
  /** In lower case, without `date` and `server`. */
  headers: Record<string, string>;
  body: string;
}

/** What a server with the fixture `vectors` answered, right and wrong requests alike. */
export function goldenAnswers(version: RuntimeVersion = "1.15"): GoldenAnswer[] {
  return JSON.parse(readFileSync(new URL(`../golden/answers/${version}.json`, import.meta.url), "utf8"));
}

/** One of those by its name. */
export function goldenAnswer(name: string, version: RuntimeVersion = "1.15"): GoldenAnswer {
  const answer = goldenAnswers(version).find((candidate) => candidate.name === name);
  if (answer === undefined) throw new Error(`No golden answer "${name}" of runtime ${version}.`);
  return answer;
}

/** The text of the OpenAPI document of the fixture `vectors`. */
export function goldenOpenApi(version: RuntimeVersion = "1.15"): string {
  return readFileSync(new URL(`../golden/answers/openapi-${version}.json`, import.meta.url), "utf8");
}
