/** A tree of results as JSON: arrays as the reference encodes them, in lists or in base64. */
import { bytesOf, dtypeKind, type HostArray, isHostArray, toNestedList } from "@tesseract-ts/core";

/** An array whose data is base64: exact, and known to the reference. */
export const base64Array = (array: HostArray): object => ({
  object_type: "array",
  shape: array.shape,
  dtype: array.dtype,
  data: { encoding: "base64", buffer: Buffer.from(bytesOf(array)).toString("base64") },
});

/** An array in lists, unless that would lose something: then in base64. */
const jsonArray = (array: HostArray): object => {
  const isExact = dtypeKind(array.dtype) !== "complex" && (dtypeKind(array.dtype) !== "float" || allFinite(array));
  if (!isExact) return base64Array(array);
  const { shape, dtype } = array;
  return { object_type: "array", shape, dtype, data: { encoding: "json", buffer: toNestedList(array) } };
};

function allFinite(array: HostArray): boolean {
  // An exponent of ones is an infinity or NaN.
  if (array.dtype === "float16") return (array.data as Uint16Array).every((bits) => (bits & 0x7c00) !== 0x7c00);
  return (array.data as Float64Array).every((value) => Number.isFinite(value));
}

/** @param encoding "json": lists where they lose nothing; "base64": always that */
export function jsonText(
  tree: unknown,
  { encoding, indent }: { encoding: "json" | "base64"; indent?: number },
): string {
  const write = (value: unknown, depth: number): string => {
    if (isHostArray(value)) return write(encoding === "json" ? jsonArray(value) : base64Array(value), depth);
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
    const isList = Array.isArray(value);
    const [left, right] = isList ? "[]" : "{}";
    const members = isList
      ? value.map((item) => write(item, depth + 1))
      : Object.entries(value).flatMap(([name, member]) =>
          member === undefined
            ? []
            : [`${JSON.stringify(name)}:${indent === undefined ? "" : " "}${write(member, depth + 1)}`],
        );
    // Lists of numbers stay in a line.
    const isFlat =
      indent === undefined ||
      members.length === 0 ||
      (isList && value.every((item) => typeof item !== "object" || item === null || Array.isArray(item)));
    if (isFlat) return `${left}${members.join(indent === undefined ? "," : ", ")}${right}`;
    const space = " ".repeat(indent * (depth + 1));
    return `${left}\n${space}${members.join(`,\n${space}`)}\n${" ".repeat(indent * depth)}${right}`;
  };
  return write(tree, 0);
}
