// How the example looks in a terminal.

const colors = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (code: number, text: string): string => (colors ? `\x1b[${code}m${text}\x1b[0m` : text);

export const bold = (text: string): string => paint(1, text);
export const dim = (text: string): string => paint(2, text);
export const green = (text: string): string => paint(32, text);
export const red = (text: string): string => paint(31, text);

const BARS = [..." ▁▂▃▄▅▆▇█"];

/** One character for each value, as high as the value is between the least, or 0 if none is below it, and the largest. */
export function sparkline(values: ArrayLike<number>): string {
  const bottom = Math.min(...Array.from(values), 0);
  const height = Math.max(...Array.from(values), bottom + Number.MIN_VALUE) - bottom;
  return Array.from(values, (value) => BARS[Math.round(((value - bottom) / height) * (BARS.length - 1))]).join("");
}

const NAME_WIDTH = 11;

/** Lines of a name and a value, in two columns. */
export function printRows(rows: readonly (readonly [name: string, value: string])[]): void {
  for (const [name, value] of rows) console.log(`  ${dim(name.padEnd(NAME_WIDTH))}  ${value}`);
}
