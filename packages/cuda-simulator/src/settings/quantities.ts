/** Sizes and times as the simulator's environment variables have them. */
import { CudaSimulatorError } from "../errors.js";

const SIZE_UNITS = { "": 1, B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;
const TIME_UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 } as const;

/** The most that the simulator accepts, in bytes and in nanoseconds. */
const MOST = 1e15;

/** `"1GiB"`, `"256MiB"`, or a number of bytes. */
export type Size = number | string;

/** `"500us"`, `"5ms"`, `"2s"`, or a number of milliseconds. */
export type Duration = number | string;

/**
 * A size as text for the simulator.
 *
 * @throws CudaSimulatorError INVALID_OPTION
 */
export function sizeText(size: Size, name: string): string {
  const bytes = typeof size === "number" ? size : amount(size, SIZE_UNITS);
  if (bytes === undefined || !Number.isInteger(Math.floor(bytes)) || bytes < 1 || bytes > MOST) {
    throw invalid(name, size, "a number of bytes or a size such as 256MiB or 2GiB");
  }
  return typeof size === "number" ? String(Math.floor(size)) : size;
}

/**
 * A time as text for the simulator.
 *
 * @throws CudaSimulatorError INVALID_OPTION
 */
export function durationText(duration: Duration, name: string): string {
  const text = typeof duration === "number" ? `${Math.round(duration * 1e6)}ns` : duration;
  if (nanoseconds(text) === undefined) {
    throw invalid(name, duration, "a number of milliseconds or a time such as 500us, 5ms or 2s");
  }
  return text;
}

/** The length of a time that the simulator accepts; undefined for any other text. */
export function nanoseconds(text: string): number | undefined {
  if (/^0+(\.0*)?$/.test(text)) return 0;
  const parsed = amount(text, TIME_UNITS);
  return parsed !== undefined && parsed <= MOST ? parsed : undefined;
}

function amount(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const match = /^(\d+(?:\.\d*)?)([A-Za-z]*)$/.exec(text);
  if (match === null || !Object.hasOwn(units, match[2] ?? "")) return undefined;
  return Number(match[1]) * (units[match[2] ?? ""] ?? Number.NaN);
}

export function invalid(name: string, value: unknown, expected: string): CudaSimulatorError {
  const shown = typeof value === "string" ? `'${value}'` : String(value);
  return new CudaSimulatorError("INVALID_OPTION", `${name} is ${shown}; it must be ${expected}`);
}
