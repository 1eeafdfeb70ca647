/** A trace as text. */
import { DIRECTIONS, type Direction, type HazardRecord, type LeakRecord } from "../trace/record.js";
import type { FunctionSummary, Shown, TraceSummary } from "../trace/summary.js";
import { bytesText, counted, printable, timeText } from "./amounts.js";

const NAMES: Readonly<Record<Direction, string>> = {
  HtoD: "host to device",
  DtoH: "device to host",
  DtoD: "device to device",
  HtoH: "host to host",
};

/** As many hazards, leaks and the like as are shown one by one. */
const MOST_LINES = 20;

/** The whole report, with a newline at its end. */
export function reportText(name: string, summary: TraceSummary): string {
  const lines = [
    heading(name, summary),
    "",
    ...functionTable(summary.functions),
    "",
    ...copyTable(summary),
    "",
    `Copies to the host: ${copiesText(summary)}`,
    ...endingLines(summary),
  ];
  return `${lines.join("\n")}\n`;
}

/** Hazards and leaks, and what ended or failed: what is wrong with a run, and nothing of what is right. */
export function endingLines(summary: TraceSummary): readonly string[] {
  const { hazards, leaks, faults, failures, unended } = summary;
  const pids = [...unended];
  const leaked = leaks.count === 0 ? "" : ` (${bytesText(summary.leakedBytes)})`;
  return [
    ...section("Hazards", hazards, "", hazardText),
    ...section("Leaks", leaks, leaked, leakText),
    ...(faults.count === 0 ? [] : section("Ended by a fault", faults, "", (each) => `${who(each)}: ${each.function}`)),
    ...(failures.count === 0
      ? []
      : section("Failed contexts", failures, "", (each) => `${who(each)}: error ${each.result} of asynchronous work`)),
    ...(pids.length === 0
      ? []
      : [`Killed or still running, and so without a leak report: ${pids.slice(0, MOST_LINES).join(", ")}`]),
  ];
}

function heading(name: string, { processes, calls, from = 0n, to = 0n }: TraceSummary): string {
  const within = timeText(Number(to - from));
  return `${printable(name)}: ${counted(calls, "call")} by ${counted(processes.size, "process", "processes")} within ${within}`;
}

function functionTable(functions: readonly FunctionSummary[]): readonly string[] {
  const rows = functions.map((each) => [
    each.library,
    each.function,
    String(each.calls),
    errorsText(each),
    each.bytes === 0 ? "" : bytesText(each.bytes),
    each.time === undefined ? "" : timeText(each.time),
  ]);
  return aligned([["library", "function", "calls", "errors", "bytes", "time"], ...rows], "llrlrr");
}

/** `3 (2, 201)`: how many, and which. */
function errorsText({ errors }: FunctionSummary): string {
  const total = [...errors.values()].reduce((sum, count) => sum + count, 0);
  return total === 0 ? "" : `${total} (${[...errors.keys()].sort((a, b) => a - b).join(", ")})`;
}

function copyTable({ copies }: TraceSummary): readonly string[] {
  const rows = DIRECTIONS.map((each) => [NAMES[each], String(copies[each].count), bytesText(copies[each].bytes)]);
  return aligned([["direction", "copies", "bytes"], ...rows], "lrr");
}

function copiesText({ copies: { DtoH } }: TraceSummary): string {
  return DtoH.count === 0 ? "none" : `${DtoH.count} (${bytesText(DtoH.bytes)})`;
}

const who = ({ pid }: { readonly pid: number }): string => `process ${pid}`;

const hazardText = (each: HazardRecord): string =>
  `${who(each)}: ${printable(each.what)} (allocation ${each.allocation}, ${bytesText(each.bytes)})`;

const leakText = (each: LeakRecord): string =>
  `${who(each)}: ${printable(each.kind)} at 0x${each.pointer.toString(16)}${each.bytes === 0 ? "" : `, ${bytesText(each.bytes)}`}`;

function section<Item>(title: string, items: Shown<Item>, more: string, text: (item: Item) => string): string[] {
  if (items.count === 0) return [`${title}: none`];
  const shown = items.first.slice(0, MOST_LINES).map((item) => `  ${text(item)}`);
  const hidden = items.count - shown.length;
  return [`${title}: ${items.count}${more}`, ...shown, ...(hidden > 0 ? [`  and ${hidden} more`] : [])];
}

/** Columns side by side, each `l`eft or `r`ight; two spaces lie between them. */
function aligned(rows: readonly (readonly string[])[], sides: string): readonly string[] {
  const widths = [...sides].map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return sides[column] === "r" ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd(),
  );
}
