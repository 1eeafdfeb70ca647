// What there is of the tracer at the start.

/** A round puff of smoke, (cells, cells) in C order. */
export const puff = (cells: number): Float32Array =>
  Float32Array.from({ length: cells * cells }, (_, i) => {
    const [y, x] = [Math.floor(i / cells) / cells - 0.5, (i % cells) / cells - 0.5];
    return Math.exp(-(x ** 2 + y ** 2) / (2 * 0.12 ** 2));
  });
