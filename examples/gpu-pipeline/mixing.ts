// How well mixed a field is, by what its sensors read.

/** Blocks of sensors along each side. */
const BLOCKS = 4;

/**
 * The standard deviation of the means of 4 × 4 blocks, as a part of the mean of all: 0 where every block has as much of the tracer.
 *
 * @param readings (size, size), in C order
 */
export function unmixed(readings: Float32Array, size: number): number {
  const means = new Float64Array(BLOCKS * BLOCKS);
  const counts = new Float64Array(BLOCKS * BLOCKS);
  readings.forEach((value, i) => {
    const [row, column] = [Math.floor(i / size), i % size];
    const block = Math.floor((row * BLOCKS) / size) * BLOCKS + Math.floor((column * BLOCKS) / size);
    means[block] = (means[block] ?? 0) + value;
    counts[block] = (counts[block] ?? 0) + 1;
  });
  const all = means.map((sum, i) => sum / (counts[i] ?? 1));
  const mean = average(all);
  return Math.sqrt(average(all.map((value) => (value - mean) ** 2))) / mean;
}

const average = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
