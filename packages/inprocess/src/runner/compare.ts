/** Compares an endpoint's results with those that a regression test expects. */
import {
  asCudaArray,
  dtypeKind,
  entriesPerElement,
  float16ToNumber,
  type HostArray,
  isHostArray,
} from "@tesseract-ts/core";
import type { SchemaNode } from "../schema/node.js";
import { isRecord } from "../validate/forms.js";

export interface Tolerance {
  /** Absolute. */
  readonly atol: number;
  /** Relative to the expected value. */
  readonly rtol: number;
}

/** A message lists no more places than this. */
const MOST_PLACES = 100;

/** @returns what differs, each place with its path */
export function compareTrees(
  obtained: unknown,
  expected: unknown,
  schema: SchemaNode | undefined,
  tolerance: Tolerance,
): string[] {
  const differences: string[] = [];
  compare(
    obtained,
    expected,
    schema,
    "",
    (path, message) => differences.push(`${path || "The result"}: ${message}`),
    tolerance,
  );
  return differences;
}

type Report = (path: string, message: string) => void;

function compare(
  obtained: unknown,
  expected: unknown,
  schema: SchemaNode | undefined,
  path: string,
  report: Report,
  tolerance: Tolerance,
): void {
  const node = schema?.kind === "nullable" ? schema.inner : schema;
  if (isHostArray(expected)) {
    if (isHostArray(obtained)) compareArrays(obtained, expected, path, report, tolerance);
    else {
      const onDevice = typeof obtained === "object" && obtained !== null && asCudaArray(obtained) !== undefined;
      report(path, onDevice ? "a GPU array can't be compared; return a host array" : "an array is expected");
    }
    return;
  }
  if (Array.isArray(expected)) {
    if (!Array.isArray(obtained)) {
      report(path, "a list is expected");
      return;
    }
    if (obtained.length !== expected.length) {
      report(path, `${expected.length} items are expected, and there are ${obtained.length}`);
      return;
    }
    expected.forEach((item: unknown, index) => {
      const child =
        node?.kind === "list" ? node.item : node?.kind === "tuple" ? (node.items[index] ?? node.rest) : undefined;
      compare(obtained[index], item, child, `${path}.[${index}]`, report, tolerance);
    });
    return;
  }
  if (isRecord(expected)) {
    if (!isRecord(obtained)) {
      report(path, "an object is expected");
      return;
    }
    for (const key of new Set([...Object.keys(expected), ...Object.keys(obtained)])) {
      const here = path === "" ? key : `${path}.${key}`;
      if (!Object.hasOwn(obtained, key)) report(here, "it is missing");
      else if (!Object.hasOwn(expected, key)) report(here, "it isn't expected");
      else compare(obtained[key], expected[key], memberNode(node, key), here, report, tolerance);
    }
    return;
  }
  const close =
    typeof obtained === "number" && typeof expected === "number" && isFloat(node)
      ? isClose(obtained, expected, tolerance)
      : Object.is(obtained, expected) || obtained === expected;
  if (!close) report(path, `${String(expected)} is expected, and it is ${String(obtained)}`);
}

function memberNode(node: SchemaNode | undefined, key: string): SchemaNode | undefined {
  if (node?.kind === "object") return node.fields.find(({ name }) => name === key)?.node;
  return node?.kind === "record" ? node.value : undefined;
}

const isFloat = (node: SchemaNode | undefined): boolean =>
  node?.kind === "number" || (node?.kind === "union" && node.options.some(isFloat));

function compareArrays(
  obtained: HostArray,
  expected: HostArray,
  path: string,
  report: Report,
  tolerance: Tolerance,
): void {
  if (obtained.dtype !== expected.dtype) {
    report(path, `${expected.dtype} is expected, and it is ${obtained.dtype}`);
    return;
  }
  if (obtained.shape.join() !== expected.shape.join()) {
    report(path, `the shape [${expected.shape.join(", ")}] is expected, and it is [${obtained.shape.join(", ")}]`);
    return;
  }
  const kind = dtypeKind(expected.dtype);
  const exact = kind !== "float" && kind !== "complex";
  const entries = entriesPerElement(expected.dtype);
  const half = expected.dtype === "float16";
  const value = (array: HostArray, index: number): number | bigint => {
    const entry = array.data[index] as number | bigint;
    return half ? float16ToNumber(entry as number) : entry;
  };
  const places: string[] = [];
  let differing = 0;
  for (let at = 0; at < expected.data.length; at += entries) {
    const [one, other] = [value(obtained, at), value(expected, at)];
    const close = exact
      ? one === other
      : entries === 1
        ? isClose(Number(one), Number(other), tolerance) || (Number.isNaN(one) && Number.isNaN(other))
        : isComplexClose(obtained, expected, at, tolerance);
    if (close) continue;
    differing++;
    if (places.length < MOST_PLACES)
      places.push(`  element ${at / entries}: ${String(other)} is expected, and it is ${String(one)}`);
  }
  if (differing === 0) return;
  const more = differing > places.length ? `\n  … and ${differing - places.length} more` : "";
  report(path, `${differing} of ${expected.data.length / entries} elements differ\n${places.join("\n")}${more}`);
}

/** NumPy's `isclose`. */
const isClose = (obtained: number, expected: number, { atol, rtol }: Tolerance): boolean =>
  obtained === expected || Math.abs(obtained - expected) <= atol + rtol * Math.abs(expected);

function isComplexClose(obtained: HostArray, expected: HostArray, at: number, { atol, rtol }: Tolerance): boolean {
  const [re, im] = [Number(obtained.data[at]), Number(obtained.data[at + 1])];
  const [wantedRe, wantedIm] = [Number(expected.data[at]), Number(expected.data[at + 1])];
  if (re === wantedRe && im === wantedIm) return true;
  if (Number.isNaN(re + im) && Number.isNaN(wantedRe + wantedIm)) return true;
  return Math.hypot(re - wantedRe, im - wantedIm) <= atol + rtol * Math.hypot(wantedRe, wantedIm);
}
