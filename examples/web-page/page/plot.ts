// What is drawn: a field on a canvas, and a curve as SVG. It is so little that a library would be more to know than to write.

/** From dark violet to light yellow. */
const STOPS = [
  [24, 15, 62],
  [114, 31, 129],
  [205, 64, 113],
  [253, 150, 104],
  [252, 253, 191],
] as const;

/** For CSS. */
export const gradient = `linear-gradient(to right, ${STOPS.map((stop) => `rgb(${stop.join(" ")})`).join(", ")})`;

/** @param values (size, size) in C order, shown from 0 to `most` */
export function drawField(canvas: HTMLCanvasElement, values: Float32Array, most: number): void {
  const size = Math.sqrt(values.length);
  canvas.width = size;
  canvas.height = size;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("This browser has no 2D canvas.");
  const image = context.createImageData(size, size);
  values.forEach((value, i) => {
    const at = Math.max(0, Math.min(1, value / most)) * (STOPS.length - 1);
    const from = Math.min(STOPS.length - 2, Math.floor(at));
    for (const channel of [0, 1, 2] as const) {
      const [low, high] = [STOPS[from]?.[channel] ?? 0, STOPS[from + 1]?.[channel] ?? 0];
      image.data[4 * i + channel] = low + (at - from) * (high - low);
    }
    image.data[4 * i + 3] = 255;
  });
  context.putImageData(image, 0, 0);
}

interface Point {
  readonly step: number;
  readonly amount: number;
}

const [WIDTH, HEIGHT] = [640, 180];
const INNER = { left: 70, right: 8, top: 14, bottom: 34 };

/** @param steps how far the axis goes */
export function drawHistory(svg: SVGSVGElement, points: readonly Point[], steps: number): void {
  const most = niceAbove(Math.max(...points.map(({ amount }) => amount), 1e-3));
  const x = (step: number): number => INNER.left + (step / steps) * (WIDTH - INNER.left - INNER.right);
  const y = (amount: number): number => HEIGHT - INNER.bottom - (amount / most) * (HEIGHT - INNER.top - INNER.bottom);
  const rows = [0, most / 2, most].map(
    (amount) =>
      `<line x1="${INNER.left}" x2="${WIDTH - INNER.right}" y1="${y(amount)}" y2="${y(amount)}"/>` +
      `<text x="${INNER.left - 8}" y="${y(amount) + 5}" text-anchor="end">${Number(amount.toPrecision(2))}</text>`,
  );
  const columns = [0, steps].map(
    (step, i) =>
      `<text x="${x(step)}" y="${HEIGHT - 8}" text-anchor="${i === 0 ? "start" : "end"}">${step === 0 ? "step 0" : step.toLocaleString("en")}</text>`,
  );
  const curve = points.map(({ step, amount }) => `${x(step).toFixed(1)},${y(amount).toFixed(1)}`).join(" ");
  svg.innerHTML = `${rows.join("")}${columns.join("")}<polyline points="${curve}"/>`;
}

/** 1, 2 or 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((factor) => factor * power >= value) ?? 10) * power;
}
