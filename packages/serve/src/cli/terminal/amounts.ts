/** Numbers for people. */

/** `3`, `-0.25`, `1.235e-7`: four significant digits. */
export function numberText(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  return size >= 1e-3 && size < 1e6
    ? String(Number(value.toPrecision(4)))
    : value.toExponential(3).replace(/\.?0+e/, "e");
}

/** `0.42 ms`, `13 s` */
export function timeText(milliseconds: number): string {
  if (milliseconds >= 10_000) return `${Number((milliseconds / 1000).toPrecision(3))} s`;
  return `${Number(milliseconds.toPrecision(3))} ms`;
}

const units = ["B", "kB", "MB", "GB", "TB"];

/** In powers of 1000: `8 kB`, `1.2 GB` */
export function bytesText(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}

export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${count} ${count === 1 ? one : several}`;
