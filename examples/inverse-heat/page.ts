// A page that shows what was recovered, and how: one file without scripts.

import type { Problem, Step } from "./inverse.js";

export function page(problem: Problem, recovered: Float64Array, steps: readonly Step[]): string {
  const { size, truth, measured, sensors } = problem;
  const most = Math.max(...truth);
  const hottest = Math.max(...measured);
  const difference = recovered.map((value, i) => Math.abs(value - (truth[i] ?? 0)));
  const last = steps.at(-1);
  const maps = [
    figure("True source", plate(truth, size, most)),
    figure("Measured temperature", plate(measured, size, hottest, sensors)),
    figure("Recovered source", plate(recovered, size, most)),
    figure("Difference", plate(difference, size, most)),
  ];
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sources of heat, recovered</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1c1c28 }
h1 { font-size: 1.4rem; margin-bottom: .3rem } p { color: #555; margin-top: 0 }
.maps { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 1rem }
figure { margin: 0 } figcaption { font-weight: 600; margin-bottom: .3rem; font-size: .9rem }
svg { width: 100%; height: auto; display: block; background: #fafafc; border-radius: 6px }
.curve { margin-top: 1.5rem } text { font: 12px system-ui, sans-serif; fill: #666 }
@media (max-width: 40rem) { .maps { grid-template-columns: repeat(2, minmax(0, 1fr)) } .curve { overflow-x: auto } .curve svg { min-width: 36rem } }
</style>
<h1>Sources of heat, recovered from ${sensors.filter(Boolean).length} sensors</h1>
<p>${size} × ${size} points, ${steps.length} steps of Adam; each step asks the Tesseract for a simulation and one gradient.
Loss ${format(steps[0]?.loss)} → ${format(last?.loss)}, mean error of the source ${format(steps[0]?.error)} → ${format(last?.error)}.</p>
<div class="maps">${maps.join("")}</div>
<figure class="curve"><figcaption>Convergence</figcaption>${curve(steps)}</figure>
</html>
`;
}

const format = (value: number | undefined): string => (value === undefined ? "–" : value.toPrecision(3));

const figure = (title: string, svg: string): string => `<figure><figcaption>${title}</figcaption>${svg}</figure>`;

/** @param shown where there is something to see; everywhere if left out */
function plate(field: Float64Array, size: number, most: number, shown?: Float64Array): string {
  const cells = Array.from(field, (value, i) =>
    shown === undefined || shown[i] === 1
      ? `<rect x="${i % size}" y="${Math.floor(i / size)}" width="1.02" height="1.02" fill="${color(value / most)}"/>`
      : "",
  );
  return `<svg viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges">${cells.join("")}</svg>`;
}

/** From dark violet to light yellow. */
function color(share: number): string {
  const t = Math.max(0, Math.min(1, share));
  const stops = [
    [24, 15, 62],
    [114, 31, 129],
    [205, 64, 113],
    [253, 150, 104],
    [252, 253, 191],
  ] as const;
  const at = Math.min(stops.length - 2, Math.floor(t * (stops.length - 1)));
  const rest = t * (stops.length - 1) - at;
  const [from, to] = [stops[at], stops[at + 1]] as const;
  const mixed = [0, 1, 2].map((channel) =>
    Math.round((from?.[channel] ?? 0) * (1 - rest) + (to?.[channel] ?? 0) * rest),
  );
  return `rgb(${mixed.join(",")})`;
}

function curve(steps: readonly Step[]): string {
  const [width, height, margin] = [900, 260, 50];
  const series = [
    { name: "loss", values: steps.map(({ loss }) => loss), stroke: "#721f81" },
    { name: "mean error of the source", values: steps.map(({ error }) => error), stroke: "#e0603f" },
  ];
  const logs = series.flatMap(({ values }) => values.map(Math.log10));
  const [low, high] = [Math.floor(Math.min(...logs)), Math.ceil(Math.max(...logs))];
  const y = (log: number): number => margin / 2 + ((high - log) / (high - low)) * (height - margin);
  const x = (index: number): number => margin + (index / Math.max(1, steps.length - 1)) * (width - 2 * margin);
  const grid = Array.from({ length: high - low + 1 }, (_, i) => low + i).map(
    (log) =>
      `<line x1="${margin}" x2="${width - margin}" y1="${y(log)}" y2="${y(log)}" stroke="#ddd"/>` +
      `<text x="${margin - 8}" y="${y(log) + 4}" text-anchor="end">1e${log}</text>`,
  );
  const lines = series.map(({ values, stroke, name }, index) => {
    const points = values.map((value, i) => `${x(i).toFixed(1)},${y(Math.log10(value)).toFixed(1)}`).join(" ");
    return (
      `<polyline points="${points}" fill="none" stroke="${stroke}" stroke-width="2"/>` +
      `<text x="${width - margin}" y="${20 + 16 * index}" text-anchor="end" style="fill:${stroke}">${name}</text>`
    );
  });
  return `<svg viewBox="0 0 ${width} ${height}">${grid.join("")}${lines.join("")}<text x="${width / 2}" y="${height - 6}" text-anchor="middle">step</text></svg>`;
}
