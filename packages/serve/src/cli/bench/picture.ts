/** Draws what was measured: bars in a terminal, and an SVG. */
import { bytesText, numberText, timeText } from "../terminal/amounts.js";
import type { Style } from "../terminal/style.js";
import { aligned } from "../terminal/table.js";
import type { Measured } from "./measure.js";

/** One row of the table: a size and a transport. */
export interface Row extends Measured {
  /** Bytes of the arrays of one call, both ways. */
  readonly bytes: number;
  readonly transport: string;
}

const EIGHTHS = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** `fraction` of `width` characters, to an eighth of one. */
export function bar(fraction: number, width: number): string {
  const eighths = Math.max(1, Math.round(Math.min(1, fraction) * width * 8));
  return "█".repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? "");
}

const bytesPerSecond = ({ bytes, perSecond }: Row): number => bytes * perSecond;

/** A table with a bar for each median; bars of one size are drawn to one scale. */
export function tableLines(rows: readonly Row[], columns: number, style: Style): readonly string[] {
  const head = ["data", "transport", "median", "95 %", "calls/s", "data/s"];
  const cells = rows.map((row) => [
    bytesText(row.bytes),
    row.transport,
    timeText(row.median),
    timeText(row.p95),
    numberText(Math.round(row.perSecond)),
    `${bytesText(bytesPerSecond(row))}`,
  ]);
  const [title = "", ...lines] = aligned([head, ...cells], "rlrrrr");
  const width = Math.max(10, Math.min(40, columns - Math.max(title.length, ...lines.map((line) => line.length)) - 3));
  return [
    style("bold", title),
    ...lines.flatMap((line, index) => {
      const row = rows[index];
      if (row === undefined) return [];
      const slowest = Math.max(...rows.filter(({ bytes }) => bytes === row.bytes).map(({ median }) => median));
      const gap = index > 0 && rows[index - 1]?.bytes !== row.bytes ? [""] : [];
      return [...gap, `${line}  ${style("cyan", bar(row.median / slowest, width))}`];
    }),
  ];
}

const ROW_HEIGHT = 24;
const LEFT = 190;
const WIDTH = 860;
const RIGHT = 250;
const colours = ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2"];

/** Horizontal bars, one for each row; lengths are logarithmic, from a tenth of the fastest median up. */
export function svgOf(title: string, rows: readonly Row[]): string {
  const transports = [...new Set(rows.map(({ transport }) => transport))];
  const shortest = Math.min(...rows.map(({ median }) => median)) / 10;
  const longest = Math.max(...rows.map(({ median }) => median));
  const length = (median: number): number =>
    Math.max(2, ((WIDTH - LEFT - RIGHT) * Math.log(median / shortest)) / Math.log(longest / shortest));
  const bars = rows.map((row, index) => {
    const y = 60 + index * ROW_HEIGHT;
    const colour = colours[transports.indexOf(row.transport) % colours.length] ?? "#888";
    const said = `${timeText(row.median)} · ${numberText(Math.round(row.perSecond))} calls/s · ${bytesText(bytesPerSecond(row))}/s`;
    return [
      `<text x="${LEFT - 10}" y="${y + 13}" text-anchor="end">${escaped(`${bytesText(row.bytes)} ${row.transport}`)}</text>`,
      `<rect x="${LEFT}" y="${y}" width="${length(row.median).toFixed(1)}" height="${ROW_HEIGHT - 6}" rx="3" fill="${colour}"/>`,
      `<text x="${(LEFT + length(row.median) + 8).toFixed(1)}" y="${y + 13}" class="said">${escaped(said)}</text>`,
    ].join("\n");
  });
  const height = 80 + rows.length * ROW_HEIGHT;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13">
<style>text{fill:#222}.said{fill:#666;font-size:12px}@media(prefers-color-scheme:dark){text{fill:#eee}.said{fill:#aaa}}</style>
<text x="${LEFT}" y="24" font-size="16" font-weight="600">${escaped(title)}</text>
<text x="${LEFT}" y="44" class="said">Median time of a call, logarithmic; bytes are those of its arrays, both ways</text>
${bars.join("\n")}
</svg>
`;
}

const escaped = (text: string): string =>
  text.replaceAll(/[&<>"]/g, (char) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[char] ?? char);
