// A picture of the results: the exponents over the drive, and the throughput of each pool.

import type { Answer } from "./sweep.js";

export interface Throughput {
  readonly workers: number;
  readonly seconds: number;
  /** Calls that were answered with 503, and made again. */
  readonly busy: number;
}

const WIDTH = 720;
const PLOT = { left: 60, right: 24, top: 52, bottom: 252 };
/** Of a bar. */
const ROW = 30;

export function picture(answers: readonly Answer[], throughputs: readonly Throughput[]): string {
  const drives = answers.map(({ drive }) => drive);
  const exponents = answers.map(({ exponent }) => exponent);
  const [low, high] = [Math.floor(Math.min(...exponents) * 10) / 10, Math.ceil(Math.max(...exponents) * 10) / 10];
  const [first, last] = [Math.min(...drives), Math.max(...drives)];
  const x = (drive: number): number =>
    PLOT.left + ((drive - first) / (last - first)) * (WIDTH - PLOT.left - PLOT.right);
  const y = (exponent: number): number => PLOT.top + ((high - exponent) / (high - low)) * (PLOT.bottom - PLOT.top);
  const rows = Array.from({ length: Math.round((high - low) * 10) + 1 }, (_, i) => low + i / 10).map(
    (value) =>
      `<line class="${Math.abs(value) < 1e-9 ? "zero" : "grid"}" x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" y1="${y(value)}" y2="${y(value)}"/>` +
      `<text x="${PLOT.left - 10}" y="${y(value) + 5}" text-anchor="end">${value.toFixed(1)}</text>`,
  );
  const columns = [0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5].map(
    (drive) => `<text x="${x(drive)}" y="${PLOT.bottom + 20}" text-anchor="middle">${drive}</text>`,
  );
  const points = answers.map(
    ({ drive, exponent }) =>
      `<circle class="${exponent > 0 ? "chaotic" : "calm"}" cx="${x(drive).toFixed(1)}" cy="${y(exponent).toFixed(1)}" r="3"/>`,
  );
  const most = Math.max(...throughputs.map(({ seconds }) => answers.length / seconds));
  const bars = throughputs.map(({ workers, seconds }, i) => {
    const top = PLOT.bottom + 44 + i * ROW;
    const length = ((answers.length / seconds) * 340) / most;
    return (
      `<text x="${PLOT.left}" y="${top + 15}">${workers === 1 ? "1 worker" : `${workers} workers`}</text>` +
      `<rect class="bar" x="${PLOT.left + 100}" y="${top}" width="${length.toFixed(1)}" height="20" rx="3"/>` +
      `<text x="${(PLOT.left + 110 + length).toFixed(1)}" y="${top + 15}">${(answers.length / seconds).toFixed(1)} pendulums a second</text>`
    );
  });
  const height = PLOT.bottom + 44 + throughputs.length * ROW + 12;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title">
<title id="title">Lyapunov exponents of ${answers.length} pendulums, and how many were computed in a second</title>
<style>
  .page { fill: #ffffff } text { font: 14px system-ui, sans-serif; fill: #57606a } .head { fill: #1f2328; font-weight: 600 }
  .grid { stroke: #d0d7de } .zero { stroke: #57606a } .calm { fill: #0969da } .chaotic { fill: #cf222e } .bar { fill: #0969da }
  text.chaotic { fill: #cf222e } text.calm { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #9198a1 } .head { fill: #e6edf3 } .grid { stroke: #30363d } .zero { stroke: #9198a1 }
    .calm, .bar, text.calm { fill: #4493f8 } .chaotic, text.chaotic { fill: #f85149 }
  }
</style>
<rect class="page" width="${WIDTH}" height="${height}" rx="10"/>
<text class="head" x="${PLOT.left}" y="30">Lyapunov exponent by the strength of the drive</text>
<text class="chaotic" x="${WIDTH - PLOT.right - 72}" y="30" text-anchor="end">chaotic</text>
<text class="calm" x="${WIDTH - PLOT.right}" y="30" text-anchor="end">periodic</text>
${rows.join("\n")}
${columns.join("\n")}
${points.join("\n")}
${bars.join("\n")}
</svg>
`;
}
