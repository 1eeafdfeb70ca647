/** IEEE 754 binary16, for platforms without `Float16Array`. */

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);

/** The number that a binary16 bit pattern stands for. */
export function float16ToNumber(pattern: number): number {
  const sign = pattern & 0x8000 ? -1 : 1;
  const exponent = (pattern >> 10) & 0x1f;
  const fraction = pattern & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

/** The binary16 bit pattern nearest to a number, ties to even; too large a number becomes infinite. */
export function numberToFloat16(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  if (Number.isNaN(value)) return 0x7e00;
  const magnitude = Math.abs(value);
  // 65520 is half way between the largest finite binary16 (65504) and what would be the next one.
  if (magnitude >= 65520) return sign | 0x7c00;
  // Multiples of 2^-24 are the subnormals; 1024 of them make the smallest normal number.
  if (magnitude < 2 ** -14) return sign | roundHalfToEven(magnitude * 2 ** 24);
  float[0] = magnitude;
  const exponent = ((bits[0] as number) >>> 23) - 127;
  // A rounding up of the fraction to 1024 carries into the exponent, as it should. The exponent of the float32 may
  // itself be one too large by rounding; the fraction is then negative and takes it back.
  return sign | (((exponent + 15) << 10) + roundHalfToEven((magnitude / 2 ** exponent - 1) * 1024));
}

function roundHalfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5 || (rest === 0.5 && floor % 2 !== 0)) return floor + 1;
  return floor;
}
