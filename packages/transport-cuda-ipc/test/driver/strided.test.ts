import assert from "node:assert/strict";
import fc from "fast-check";
import { Batch, type StridedLayout, type StridedPiece, stridedPieces } from "../support/names.js";
import { onSimulator, plainTest } from "../support/on-simulator.js";
import { assertNothingHeld, firstDevice, pattern, rejection } from "../support/worked.js";

/** The elements of a strided array in C order, one by one; `origin` is where its first element is. */
function inOrder(memory: Uint8Array, origin: number, { shape, strides, itemSize }: StridedLayout): Uint8Array {
  let offsets = [origin];
  shape.forEach((size, i) => {
    const stride = strides[i] ?? 0;
    offsets = offsets.flatMap((offset) => Array.from({ length: size }, (_, index) => offset + index * stride));
  });
  return Uint8Array.from(offsets.flatMap((offset) => [...memory.subarray(offset, offset + itemSize)]));
}

/** What the copies do, on the host. Rows that overlap or leave their memory are a mistake. */
function carriedOut(pieces: readonly StridedPiece[], memory: Uint8Array, origin: number, bytes: number): Uint8Array {
  const target = new Uint8Array(bytes);
  for (const { to, toPitch, from, fromPitch, width, height, within } of pieces) {
    const [source, start] = within ? [target, from] : [memory, origin + from];
    if (height > 1) assert.ok(toPitch >= width && fromPitch >= width, "a pitch is as wide as a row");
    for (let row = 0; row < height; row++) {
      const at = start + row * fromPitch;
      assert.ok(at >= 0 && at + width <= source.length && to + row * toPitch + width <= bytes, "within the memory");
      target.set(source.subarray(at, at + width), to + row * toPitch);
    }
  }
  return target;
}

/** Layouts as arrays have them: an array in C order, its axes permuted, sliced with steps, reversed and broadcast. */
const layouts = fc
  .record({
    itemSize: fc.constantFrom(1, 2, 4, 8, 16),
    axes: fc.array(
      fc.record({
        size: fc.integer({ min: 0, max: 5 }),
        step: fc.integer({ min: 1, max: 3 }),
        reversed: fc.boolean(),
        broadcast: fc.integer({ min: 0, max: 3 }),
        order: fc.integer(),
      }),
      { maxLength: 5 },
    ),
  })
  .map(({ itemSize, axes }) => {
    let [extent, origin] = [itemSize, 0];
    const strided = axes.map((axis) => {
      if (axis.broadcast === 0) return { ...axis, stride: 0 };
      const stride = extent * axis.step;
      extent *= axis.step * Math.max(1, axis.size);
      if (axis.reversed) origin += stride * Math.max(0, axis.size - 1);
      return { ...axis, stride: axis.reversed ? -stride : stride };
    });
    const permuted = [...strided].sort((one, other) => one.order - other.order);
    const layout = { itemSize, shape: permuted.map(({ size }) => size), strides: permuted.map(({ stride }) => stride) };
    return { layout, origin, memory: pattern(extent) };
  });

plainTest("any strided array comes into C order", () => {
  fc.assert(
    fc.property(layouts, ({ layout, origin, memory }) => {
      const bytes = layout.shape.reduce((product, size) => product * size, layout.itemSize);
      const pieces = stridedPieces(layout, 100_000);
      assert.deepEqual(carriedOut(pieces, memory, origin, bytes), inOrder(memory, origin, layout));
    }),
    { numRuns: 2000 },
  );
});

plainTest("few copies do: rows, columns, steps and broadcasts", () => {
  const pieces = (shape: number[], strides: number[]): number => stridedPieces({ shape, strides, itemSize: 8 }).length;
  assert.equal(pieces([100, 100], [800, 8]), 1); // it was in order already
  assert.equal(pieces([100, 50], [800, 8]), 1); // the left half of a matrix
  assert.equal(pieces([100, 50], [800, 16]), 1); // every second column
  assert.equal(pieces([10, 1000], [8, 80]), 10); // a transposed matrix: one for each of the fewer
  assert.equal(pieces([1000, 10], [8, 8000]), 10);
  assert.equal(pieces([1024], [0]), 11); // a broadcast scalar, doubled
  assert.equal(pieces([1024, 1000], [0, 8]), 11);
  assert.equal(pieces([100], [-8]), 100); // reversed: one by one
  assert.equal(pieces([100, 1000], [-8000, 8]), 100);
  assert.equal(pieces([], []), 1);
  assert.equal(pieces([0, 3], [24, 8]), 0);
});

plainTest("too many copies are refused, with the way out", async () => {
  const layout = { shape: [10_000], strides: [-8], itemSize: 8 };
  const error = await rejection(() => stridedPieces(layout), "INVALID_ARRAY");
  assert.match(error.message, /more than 4096 copies/);
  assert.match(error.hint ?? "", /ascontiguousarray/);
  assert.equal(stridedPieces(layout, 10_000).length, 10_000);
});

plainTest("strides that overlap, or don't fit the shape, are refused", async () => {
  for (const [shape, strides] of [
    [
      [4, 4],
      [8, 8],
    ],
    [[4], [4]],
    [
      [3, 2],
      [8, 16],
    ],
    [
      [2, 2],
      [-8, 8],
    ],
    [[2], []],
    [[2], [1.5]],
    [[2], [Number.NaN]],
  ] as const) {
    await rejection(() => stridedPieces({ shape, strides, itemSize: 8 }), "INVALID_ARRAY");
  }
  // A dimension of one element has no stride that counts.
  assert.equal(stridedPieces({ shape: [1, 4], strides: [3, 8], itemSize: 8 }).length, 1);
});

onSimulator(
  "strided memory comes into C order on the device, without the host",
  {
    check: (trace) => assert.equal(trace.copiesToHost, 3),
  },
  async () => {
    const device = await firstDevice();
    const memory = pattern(40_000);
    for (const [origin, layout] of [
      [0, { shape: [20, 100], strides: [8, 160], itemSize: 8 }],
      [4000, { shape: [3, 5, 7], strides: [-400, 0, 40], itemSize: 4 }],
      [16, { shape: [30, 2, 2], strides: [128, 0, 16], itemSize: 16 }],
    ] as const) {
      const expected = inOrder(memory, origin, layout);
      const batch = new Batch();
      const [from, to] = [batch.alloc(memory.length), batch.alloc(expected.length)];
      batch.copyFromHost(from, memory);
      batch.copyStrided(to, from.at(origin), layout);
      const received = new Uint8Array(expected.length);
      batch.copyToHost(received, to);
      batch.free(from);
      batch.free(to);
      await device.submit(batch);
      assert.deepEqual(received, expected);
    }
    await assertNothingHeld();
  },
);
