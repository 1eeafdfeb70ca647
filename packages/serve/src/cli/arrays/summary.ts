/** Shows a tree of results to a person: arrays by their dtype, shape, least, largest and mean value, and first values. */
import { dtypeKind, elementCount, float16ToNumber, type HostArray, isHostArray } from "@tesseract-ts/core";
import { numberText } from "../terminal/amounts.js";
import { printable, type Style } from "../terminal/style.js";

/** Values of an array that are shown. */
const MOST_VALUES = 6;
/** Items of a list and members of an object that are shown. */
const MOST_ITEMS = 50;

/** An array's entries as numbers; complex ones as their absolute values. */
export function realValues(array: HostArray): Float64Array {
  const { data, dtype } = array;
  if (dtypeKind(dtype) === "complex") {
    return Float64Array.from({ length: data.length / 2 }, (_, index) =>
      Math.hypot(Number(data[2 * index]), Number(data[2 * index + 1])),
    );
  }
  if (dtype === "float16") return Float64Array.from(data as Uint16Array, float16ToNumber);
  return Float64Array.from(data as ArrayLike<number | bigint>, Number);
}

export interface ArraySummary {
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Over the finite values; undefined if there are none. */
  readonly min: number | undefined;
  readonly max: number | undefined;
  readonly mean: number | undefined;
  /** NaN and infinities. */
  readonly notFinite: number;
}

export function summaryOf(array: HostArray): ArraySummary {
  let [min, max, sum, finite] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  const values = realValues(array);
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    finite++;
  }
  const { dtype, shape } = array;
  const some = finite > 0;
  return {
    dtype,
    shape,
    min: some ? min : undefined,
    max: some ? max : undefined,
    mean: some ? sum / finite : undefined,
    notFinite: values.length - finite,
  };
}

/** `float64 [100]  min 0  max 1  mean 0.5  0, 0.1, 0.2, …` */
export function arrayText(array: HostArray, style: Style): string {
  const { dtype, shape, min, max, mean, notFinite } = summaryOf(array);
  const what = style("cyan", `${dtype} [${shape.join(", ")}]`);
  const values = firstValues(array);
  if (elementCount(shape) <= 1) return `${what}  ${values}`;
  const kind = dtypeKind(array.dtype);
  const [left, right] = kind === "complex" ? ["|", "|"] : ["", ""];
  const statistics =
    min === undefined || max === undefined || mean === undefined || kind === "bool"
      ? []
      : [
          `min ${left}${numberText(min)}${right}`,
          `max ${left}${numberText(max)}${right}`,
          `mean ${left}${numberText(mean)}${right}`,
        ];
  const warning = notFinite === 0 ? [] : [style("yellow", `${notFinite} not finite`)];
  return [what, ...statistics, ...warning, style("dim", values)].join("  ");
}

function firstValues(array: HostArray): string {
  const { data, dtype } = array;
  const count = elementCount(array.shape);
  const kind = dtypeKind(dtype);
  const shown = Array.from({ length: Math.min(count, MOST_VALUES) }, (_, index) => {
    if (kind === "complex") {
      const [re, im] = [Number(data[2 * index]), Number(data[2 * index + 1])];
      return `${numberText(re)}${im < 0 ? "-" : "+"}${numberText(Math.abs(im))}j`;
    }
    if (kind === "bool") return data[index] === 0 ? "false" : "true";
    if (kind === "int" || kind === "uint") return String(data[index]);
    return numberText(dtype === "float16" ? float16ToNumber(Number(data[index])) : Number(data[index]));
  });
  return count > MOST_VALUES ? `${shown.join(", ")}, …` : shown.join(", ");
}

/** A tree in lines, one for each leaf, named by its path. */
export function treeLines(tree: unknown, style: Style): readonly string[] {
  const lines: string[] = [];
  const leaf = (path: string, text: string): void => {
    lines.push(path === "" ? text : `${style("bold", printable(path))}  ${text}`);
  };
  const visit = (value: unknown, path: string): void => {
    if (isHostArray(value)) leaf(path, arrayText(value, style));
    else if (typeof value !== "object" || value === null) leaf(path, scalarText(value));
    else {
      const isList = Array.isArray(value);
      const members = Object.entries(value);
      if (members.length === 0) leaf(path, isList ? "[]" : "{}");
      for (const [name, member] of members.slice(0, MOST_ITEMS)) {
        const step = isList ? `[${name}]` : name;
        visit(member, path === "" ? step : `${path}.${step}`);
      }
      if (members.length > MOST_ITEMS) leaf(path, `… and ${members.length - MOST_ITEMS} more`);
    }
  };
  visit(tree, "");
  return lines;
}

const scalarText = (value: unknown): string =>
  typeof value === "bigint" ? String(value) : printable(JSON.stringify(value) ?? String(value));

/** The arrays of a tree, each with its path: `stats.norm2`, `products.0`. */
export function arraysOf(tree: unknown): readonly { readonly path: string; readonly array: HostArray }[] {
  const found: { path: string; array: HostArray }[] = [];
  const visit = (value: unknown, path: string): void => {
    if (isHostArray(value)) found.push({ path, array: value });
    else if (typeof value === "object" && value !== null) {
      for (const [name, member] of Object.entries(value)) visit(member, path === "" ? name : `${path}.${name}`);
    }
  };
  visit(tree, "");
  return found;
}
