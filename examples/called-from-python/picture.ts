// A picture of the results, from what the Python program wrote.

export interface Results {
  readonly times: readonly number[];
  readonly measured: readonly number[];
  /** Hours, for the curves. */
  readonly fine: readonly number[];
  readonly start: readonly number[];
  readonly fitted: readonly number[];
  readonly steps: readonly { readonly loss: number }[];
}

const [WIDTH, HEIGHT] = [720, 380];
const PLOT = { left: 56, right: 24, top: 56, bottom: 52 };
const MOST_HOURS = 25;

export function picture({ times, measured, fine, start, fitted, steps }: Results): string {
  const most = Math.ceil(Math.max(...measured, ...start, ...fitted) / 2) * 2;
  const x = (hours: number): number => PLOT.left + (hours / MOST_HOURS) * (WIDTH - PLOT.left - PLOT.right);
  const y = (value: number): number => HEIGHT - PLOT.bottom - (value / most) * (HEIGHT - PLOT.top - PLOT.bottom);
  const curve = (values: readonly number[], kind: string): string => {
    const points = values.map((value, i) => `${x(fine[i] ?? 0).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    return `<polyline class="${kind}" points="${points}"/>`;
  };
  const rows = Array.from({ length: most / 2 + 1 }, (_, i) => 2 * i).map(
    (value) =>
      `<line class="grid" x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${PLOT.left - 10}" y="${y(value) + 5}" text-anchor="end">${value}</text>`,
  );
  const hours = [0, 5, 10, 15, 20, 25].map(
    (hour) => `<text x="${x(hour)}" y="${HEIGHT - PLOT.bottom + 20}" text-anchor="middle">${hour}</text>`,
  );
  const points = times.map(
    (time, i) => `<circle cx="${x(time).toFixed(1)}" cy="${y(measured[i] ?? 0).toFixed(1)}" r="5"/>`,
  );
  const [first, last] = [steps[0]?.loss ?? 0, steps.at(-1)?.loss ?? 0];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title">
<title id="title">Measured concentrations, the curve that the fit began with, and the fitted one</title>
<style>
  .page { fill: #ffffff } text { font: 14px system-ui, sans-serif; fill: #57606a } .head { fill: #1f2328; font-weight: 600 }
  .grid { stroke: #d0d7de } polyline { fill: none; stroke-width: 2.5 } circle { fill: #1f2328; stroke: #ffffff; stroke-width: 1.5 }
  .start { stroke: #8c959f; stroke-dasharray: 6 5 } .fitted { stroke: #0969da } text.fitted { fill: #0969da; stroke: none }
  text.start { stroke: none }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #9198a1 } .head { fill: #e6edf3 } .grid { stroke: #30363d }
    circle { fill: #e6edf3; stroke: #0d1117 } .start { stroke: #6e7681 } .fitted { stroke: #4493f8 } text.fitted { fill: #4493f8 }
  }
</style>
<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="10"/>
<text class="head" x="${PLOT.left}" y="32">Theophylline in the blood, mg/l</text>
${rows.join("\n")}
${hours.join("\n")}
<text x="${(PLOT.left + WIDTH - PLOT.right) / 2}" y="${HEIGHT - 10}" text-anchor="middle">hours</text>
${curve(start, "start")}
${curve(fitted, "fitted")}
${points.join("\n")}
<text class="start" x="${WIDTH - PLOT.right}" y="${PLOT.top + 18}" text-anchor="end">at the start: loss ${first.toFixed(2)}</text>
<text class="fitted" x="${WIDTH - PLOT.right}" y="${PLOT.top + 38}" text-anchor="end">after ${steps.length} steps: loss ${last.toFixed(2)}</text>
</svg>
`;
}
