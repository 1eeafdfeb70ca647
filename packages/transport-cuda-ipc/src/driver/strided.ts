/** Strided arrays as copies of rows: how `cuMemcpy2D` makes one contiguous without a kernel. */
import { TesseractError } from "@tesseract-ts/core";

export interface StridedLayout {
  readonly shape: readonly number[];
  /** Bytes from one element to the next along each dimension; negative and 0 (a broadcast) are legal. */
  readonly strides: readonly number[];
  /** Bytes of one element. */
  readonly itemSize: number;
}

/** One copy of `height` rows of `width` bytes. Offsets and pitches are in bytes. */
export interface StridedPiece {
  readonly to: number;
  readonly toPitch: number;
  /** From the array's first element, which may be in the middle of its memory; with `within`, in the destination. */
  readonly from: number;
  readonly fromPitch: number;
  readonly width: number;
  readonly height: number;
  /** It repeats what earlier pieces have brought to the destination: a broadcast dimension. */
  readonly within: boolean;
}

/** More copies than this are refused: queueing them would take longer than a kernel or a way through the host. */
export const MOST_PIECES = 4096;

/** `cuMemcpy2D` takes no larger pitch (CU_DEVICE_ATTRIBUTE_MAX_PITCH of every device so far), in bytes. */
const MOST_PITCH = 2 ** 31 - 1;

/** A dimension of more than one element, and the bytes from one to the next at either end. */
interface Axis {
  readonly size: number;
  readonly to: number;
  readonly from: number;
}

/**
 * The copies that bring a strided array into C order, in this order. An array without elements needs none.
 *
 * @throws TesseractError INVALID_ARRAY for strides that overlap, or if there would be more than `atMost`
 *
 * @example
 * stridedPieces({ shape: [2, 3], strides: [8, 16], itemSize: 8 }); // a transposed matrix: 2 copies of 3 rows of 8 bytes
 */
export function stridedPieces(layout: StridedLayout, atMost = MOST_PIECES): readonly StridedPiece[] {
  const axes = axesOf(layout);
  if (layout.shape.includes(0)) return [];
  const own = axes.filter(({ from }) => from !== 0);
  checkOverlap(own, layout);
  const pieces = new Pieces(layout, atMost);
  pieces.add(own, 0, 0, false);
  // A broadcast dimension is filled by doubling what is there already; the inner ones first, so that rows get longer.
  let there = own;
  for (const axis of axes.filter(({ from }) => from === 0).reverse()) {
    for (let have = 1; have < axis.size; have *= 2) {
      const size = Math.min(have, axis.size - have);
      const repeated = [...there, { size, to: axis.to, from: axis.to }];
      pieces.add(repeated.map(within).sort(outermostFirst), have * axis.to, 0, true);
    }
    there = [...there, axis].sort(outermostFirst);
  }
  return pieces.list;
}

const within = ({ size, to }: Axis): Axis => ({ size, to, from: to });
const outermostFirst = (one: Axis, other: Axis): number => other.to - one.to;

/** The copies so far, which must not become too many. */
class Pieces {
  readonly list: StridedPiece[] = [];

  constructor(
    private readonly layout: StridedLayout,
    private readonly atMost: number,
  ) {}

  /** The copies of one block; its axes come outermost first. */
  add(axes: readonly Axis[], to: number, from: number, within: boolean): void {
    const merged = mergedAxes(axes.filter(({ size }) => size > 1));
    const inner = merged.at(-1);
    const { itemSize } = this.layout;
    const isRun = inner !== undefined && inner.to === itemSize && inner.from === itemSize;
    const width = isRun ? inner.size * itemSize : itemSize;
    const outer = isRun ? merged.slice(0, -1) : merged;
    const isPitch = (bytes: number): boolean => bytes >= width && bytes <= MOST_PITCH;
    const rows = outer
      .filter((axis) => isPitch(axis.to) && isPitch(axis.from))
      .reduce<Axis | undefined>((most, axis) => (most === undefined || axis.size > most.size ? axis : most), undefined);
    const others = outer.filter((axis) => axis !== rows);
    const copies = others.reduce((product, { size }) => product * size, 1);
    if (this.list.length + copies > this.atMost) throw this.tooMany();
    const shape = {
      width,
      height: rows?.size ?? 1,
      toPitch: rows?.to ?? width,
      fromPitch: rows?.from ?? width,
      within,
    };
    for (const [toOffset, fromOffset] of offsetsOf(others)) {
      this.list.push({ to: to + toOffset, from: from + fromOffset, ...shape });
    }
  }

  private tooMany(): TesseractError {
    const { shape, strides } = this.layout;
    const message = `An array of shape [${shape.join(", ")}] with the strides [${strides.join(", ")}] would take more than ${this.atMost} copies to be made contiguous`;
    return new TesseractError("INVALID_ARRAY", message, {
      hint: "Make it contiguous where it comes from, such as by `cupy.ascontiguousarray`.",
    });
  }
}

/** Axes that follow one another without a gap at both ends are one. */
function mergedAxes(axes: readonly Axis[]): readonly Axis[] {
  const merged: Axis[] = [];
  for (const axis of axes) {
    const before = merged.at(-1);
    if (before !== undefined && before.to === axis.to * axis.size && before.from === axis.from * axis.size) {
      merged[merged.length - 1] = { ...axis, size: before.size * axis.size };
    } else {
      merged.push(axis);
    }
  }
  return merged;
}

/** The offsets of every combination of indices, in C order. */
function* offsetsOf(axes: readonly Axis[]): Generator<readonly [to: number, from: number]> {
  const [first, ...rest] = axes;
  if (first === undefined) {
    yield [0, 0];
    return;
  }
  for (let index = 0; index < first.size; index++) {
    for (const [to, from] of offsetsOf(rest)) yield [to + index * first.to, from + index * first.from];
  }
}

function axesOf({ shape, strides, itemSize }: StridedLayout): readonly Axis[] {
  if (shape.length !== strides.length || !strides.every(Number.isSafeInteger)) {
    throw new TesseractError(
      "INVALID_ARRAY",
      `The strides [${strides.join(", ")}] don't fit the shape [${shape.join(", ")}]: there is one whole number of bytes for each dimension`,
    );
  }
  const axes: Axis[] = [];
  let to = itemSize;
  for (let i = shape.length - 1; i >= 0; i--) {
    const size = shape[i] ?? 0;
    if (size > 1) axes.unshift({ size, to, from: strides[i] ?? 0 });
    to *= size;
  }
  return axes;
}

/** Two elements in the same bytes: allowed only as a broadcast. Sizes and strides decide it, as NumPy bounds it. */
function checkOverlap(axes: readonly Axis[], { shape, strides, itemSize }: StridedLayout): void {
  let extent = itemSize;
  for (const { size, from } of [...axes].sort((one, other) => Math.abs(one.from) - Math.abs(other.from))) {
    if (Math.abs(from) < extent) {
      throw new TesseractError(
        "INVALID_ARRAY",
        `An array of shape [${shape.join(", ")}] has the strides [${strides.join(", ")}], by which its elements overlap`,
        { hint: "Copy it where it comes from." },
      );
    }
    extent += Math.abs(from) * (size - 1);
  }
}
