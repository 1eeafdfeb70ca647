/** Numbers of a JSON text. */

const grammar = /^-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Not JSON, but what Python's own `json` writes for them. */
const nonFinite: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

/**
 * The value of a number's text, or undefined if it is none. A whole number that a double can't hold exactly becomes a
 * bigint, so that nothing is lost.
 */
export function parseNumber(text: string): number | bigint | undefined {
  const match = grammar.exec(text);
  if (match === null) return Object.hasOwn(nonFinite, text) ? nonFinite[text] : undefined;
  const value = Number(text);
  if (match[1] !== undefined || match[2] !== undefined || Number.isSafeInteger(value)) return value;
  return BigInt(text);
}

const powersOf10 = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent);

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

/**
 * Reads a number with at most 15 digits and no exponent that stands whole in `bytes`, the usual case in lists. Both
 * its digits and the power of ten then are exact doubles, so one division rounds correctly (W. D. Clinger, "How to
 * read floating point numbers accurately", 1990).
 *
 * @returns how many bytes it took; 0 if it isn't such a number. The value is in {@link plain}.
 */
export function readPlainNumber(bytes: Uint8Array, start: number): number {
  let at = start;
  const negative = bytes[at] === 0x2d;
  if (negative) at++;
  const first = at;
  let digits = 0;
  let mantissa = 0;
  while (at < bytes.length && isDigit(bytes[at] as number)) {
    mantissa = mantissa * 10 + (bytes[at] as number) - 0x30;
    digits++;
    at++;
  }
  if (digits === 0 || digits > 15 || (digits > 1 && bytes[first] === 0x30)) return 0;
  let fraction = 0;
  if (bytes[at] === 0x2e) {
    at++;
    while (at < bytes.length && isDigit(bytes[at] as number)) {
      mantissa = mantissa * 10 + (bytes[at] as number) - 0x30;
      fraction++;
      at++;
    }
    if (fraction === 0 || digits + fraction > 15) return 0;
  }
  // At the end of the bytes the number may go on; an exponent is for the slow way, as is anything unexpected.
  const next = bytes[at];
  if (next !== 0x2c && next !== 0x5d && next !== 0x7d) return 0;
  const magnitude = fraction === 0 ? mantissa : mantissa / (powersOf10[fraction] as number);
  plain.value = negative ? -magnitude : magnitude;
  plain.isFloat = fraction > 0;
  return at - start;
}

/** The result of {@link readPlainNumber}: an object would cost more than the number. */
export const plain = { value: 0, isFloat: false };
