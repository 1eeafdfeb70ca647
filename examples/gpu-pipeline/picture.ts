// A picture of the results: the tracer at the start, what the sensors read, the tracer at the end, and the bytes.

import { pngOf } from "./png.js";

interface Panels {
  /** Of the whole field. */
  readonly initial: Float32Array;
  readonly last: Float32Array;
  /** Of each round, (size, size). */
  readonly readings: readonly Float32Array[];
  readonly size: number;
}

interface Bytes {
  readonly gpu: number;
  readonly host: number;
  readonly simulated: boolean;
}

/** Pixels of a large panel's side. */
const SIDE = 232;
const GAP = 24;
const SMALL = (SIDE - 2 * 16) / 2;

export function picture({ initial, last, readings, size }: Panels, { gpu, host, simulated }: Bytes): string {
  const most = Math.max(...initial);
  const image = (values: Float32Array, [x, y]: readonly [number, number], side: number): string => {
    const pixels = Math.sqrt(values.length);
    const png = pngOf(values, pixels, most).toString("base64");
    return `<image x="${x}" y="${y}" width="${side}" height="${side}" href="data:image/png;base64,${png}"/>`;
  };
  const text = (words: string, x: number, y: number, anchor = "start", kind = ""): string =>
    `<text x="${x}" y="${y}" text-anchor="${anchor}" class="${kind}">${words}</text>`;
  const shown = readings.slice(0, 6);
  const middle = GAP + SIDE + GAP;
  const small = shown.map((values, i) => {
    const [x, y] = [middle + (i % 3) * (SMALL + 16), 64 + Math.floor(i / 3) * (SMALL + 32)] as const;
    return image(values, [x, y], SMALL) + text(`round ${i + 1}`, x, y + SMALL + 16, "start", "dim");
  });
  const right = middle + 3 * SMALL + 32 + GAP;
  const width = right + SIDE + GAP;
  const bar = (label: string, bytes: number, y: number, kind: string): string => {
    const length = Math.max(2, (bytes / host) * (width - 2 * GAP - 360));
    return (
      text(label, GAP, y + 14) +
      `<rect x="${GAP + 130}" y="${y}" width="${length}" height="18" rx="3" class="${kind}"/>` +
      text(`${bytes.toLocaleString("en")} bytes through sockets`, GAP + 140 + length, y + 14, "start", "dim")
    );
  };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 412" role="img" aria-labelledby="title">
<title id="title">A tracer before and after it was stirred, and what sensors read in between</title>
<style>
  .page { fill: #ffffff } text { font: 14px system-ui, sans-serif; fill: #1f2328 } .dim { fill: #57606a; font-size: 13px }
  .head { font-weight: 600 } .gpu { fill: #1a7f37 } .host { fill: #bf8700 } image { image-rendering: pixelated }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 } text { fill: #e6edf3 } .dim { fill: #9198a1 } .gpu { fill: #3fb950 } .host { fill: #d29922 }
  }
</style>
<rect class="page" width="${width}" height="412" rx="10"/>
${text("The tracer at the start", GAP, 48, "start", "head")}
${image(initial, [GAP, 64], SIDE)}
${text(`What ${size} × ${size} sensors read`, middle, 48, "start", "head")}
${small.join("\n")}
${text("The tracer at the end", right, 48, "start", "head")}
${image(last, [right, 64], SIDE)}
${bar("cuda_ipc", gpu, 334, "gpu")}
${bar("through the host", host, 364, "host")}
${simulated ? text("on a simulated GPU", width - GAP, 24, "end", "dim") : ""}
</svg>
`;
}
