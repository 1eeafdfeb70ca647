/** Random directions. */

/** A source of 1 and -1, equally often; the same for the same seed. (Bits of the mulberry32 generator.) */
export function randomSigns(seed: number = Math.floor(Math.random() * 2 ** 32)): () => 1 | -1 {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) & 1) === 0 ? 1 : -1;
  };
}
