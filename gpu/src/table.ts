/** The results as one table for people, in Markdown that also reads well in a terminal. */
import { millisecondsOf } from "./measure/timing.js";
import { sizeText } from "./options.js";
import { counted, paths, type Results, type SizeRow, type Timing } from "./results.js";

export function tableOf(results: Results): string {
  const { simulated, driver, findings, sizes, machine } = results;
  const counts = counted(findings);
  const devices = driver?.devices.map(({ name, totalMemory }) => `${name} (${sizeText(totalMemory)})`).join(", ");
  const lines = [
    `# GPU suite${simulated ? ": simulated" : ""}`,
    "",
    simulated
      ? "Ran on the CUDA simulator, not on a GPU: the checks are simulated, and the times say nothing about a GPU."
      : "Ran on this machine's CUDA driver.",
    "",
    `${results.date}, Node ${results.node}, ${machine.kernel}, ${machine.processors} processors; ` +
      `${driver === undefined ? "no driver" : `CUDA ${driver.version}: ${devices}`}; ${Math.round(results.seconds)} s`,
    "",
    `## Correctness${simulated ? " (simulated)" : ""}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`,
    "",
    ...grid(
      ["", "what", "", "ms"],
      findings.map(({ group, name, status, detail, milliseconds }) => [
        status === "failed" ? "FAILED" : status,
        `${group}: ${name}`,
        detail,
        milliseconds.toFixed(0),
      ]),
    ),
  ];
  if (sizes.length > 0) lines.push("", ...sizesOf(results));
  return `${lines.join("\n")}\n`;
}

function sizesOf({ simulated, sizes, copyBandwidth }: Results): string[] {
  const notes: string[] = [];
  const cell = (timing: Timing): string => {
    if ("median" in timing) return timeText(timing.median);
    let index = notes.indexOf(timing.skipped);
    if (index < 0) index = notes.push(timing.skipped) - 1;
    return `(${index + 1})`;
  };
  const rows = sizes.map((row) => [
    sizeText(row.bytes),
    cell(row.copy),
    cell(row.message),
    ...paths.map((path) => cell(row.apply[path])),
    fractionText(row, copyBandwidth),
    timesText(row),
  ]);
  return [
    `## Time of \`apply\`${simulated ? " (simulated)" : ""}, y = x of float64 on the device, medians in ms`,
    "",
    ...grid(
      [
        "size",
        "copy on device",
        "message",
        "apply cuda_ipc",
        "base64",
        "binref",
        "cuda_ipc of copy bandwidth",
        "host / cuda_ipc",
      ],
      rows,
    ),
    "",
    copyBandwidth === undefined
      ? "The device's copy bandwidth wasn't measured."
      : `The device copies ${(copyBandwidth / 1e9).toPrecision(3)} GB/s${simulated ? " (simulated)" : ""}.`,
    ...notes.map((note, index) => `(${index + 1}) ${note}`),
  ];
}

/** An array crosses twice: the server copies x, and the client copies y. */
function fractionText({ bytes, apply }: SizeRow, bandwidth: number | undefined): string {
  const time = millisecondsOf(apply.cuda_ipc);
  if (time === undefined || bandwidth === undefined) return "";
  return `${(((2 * bytes * 1e3) / time / bandwidth) * 100).toPrecision(2)} %`;
}

function timesText({ apply }: SizeRow): string {
  const onDevice = millisecondsOf(apply.cuda_ipc);
  const byHost = [apply["json+base64"], apply["json+binref"]].flatMap((timing) => millisecondsOf(timing) ?? []);
  if (onDevice === undefined || byHost.length === 0) return "";
  return (Math.min(...byHost) / onDevice).toPrecision(2);
}

const timeText = (milliseconds: number): string =>
  milliseconds >= 100 ? milliseconds.toFixed(0) : milliseconds.toPrecision(3);

/** A table of Markdown with its columns in line. */
function grid(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const clean = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")));
  const widths = head.map((title, at) =>
    Math.max(3, title.length, ...clean.map((row) => Math.min(70, row[at]?.length ?? 0))),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...clean.map(line)];
}
