/** Numbers for people to read. */

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const TIME_UNITS = ["ns", "µs", "ms", "s"];

/** `1536` as `1.5 KiB`. */
export const bytesText = (bytes: number): string => scaled(bytes, 1024, BYTE_UNITS);

/** Nanoseconds, `1500` as `1.5 µs`. */
export const timeText = (nanoseconds: number): string => scaled(nanoseconds, 1000, TIME_UNITS);

/** `1 leak`, `2 leaks`. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

/** Text from a trace, without what a terminal would take for a command. */
export const printable = (text: string): string => text.replaceAll(/\p{Cc}|\p{Cf}/gu, "\uFFFD").slice(0, 200);

function scaled(amount: number, step: number, units: readonly string[]): string {
  let unit = 0;
  let rest = amount;
  while (rest >= step && unit < units.length - 1) {
    rest /= step;
    unit++;
  }
  return `${unit === 0 ? Math.round(rest) : rest.toFixed(rest < 10 ? 2 : 1)} ${units[unit]}`;
}
