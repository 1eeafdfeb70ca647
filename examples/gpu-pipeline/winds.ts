// Two winds that take turns: the first blows along the rows, the second along the columns, each with a strength that varies like a
// sine across it, and a phase of its own in each step (Pierrehumbert, https://doi.org/10.1016/0960-0779(94)90139-2).

/** By how many cells each row, or each column, is moved: from 0 to `count - 1`, around the edge. */
export function shiftsOf(
  step: number,
  axis: "rows" | "columns",
  lines: number,
  cells: number,
  strength: number,
): number[] {
  const turn = 2 * step + (axis === "rows" ? 0 : 1);
  const phase = 2 * Math.PI * ((turn * GOLDEN) % 1);
  return Array.from({ length: lines }, (_, line) => {
    const shift = Math.round(strength * cells * Math.sin((2 * Math.PI * line) / lines + phase));
    return ((shift % cells) + cells) % cells;
  });
}

/** Phases of multiples of it never repeat. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/** Neighbouring lines that are moved by as much. */
export interface Band {
  readonly from: number;
  readonly lines: number;
  readonly shift: number;
}

export function bandsOf(shifts: readonly number[]): Band[] {
  const bands: Band[] = [];
  for (let from = 0; from < shifts.length; ) {
    const shift = shifts[from] ?? 0;
    let to = from + 1;
    while (to < shifts.length && shifts[to] === shift) to++;
    bands.push({ from, lines: to - from, shift });
    from = to;
  }
  return bands;
}
