// A tracer, such as smoke, in a square whose opposite edges meet, moved by the winds of `winds.ts`.
//
// The winds blow by whole cells. So the exact solution of the advection equation moves values and never mixes two of them, and it
// needs nothing but copies on the device, which is all that a GPU does for JavaScript without a kernel.

import { array, defineTesseract } from "@tesseract-ts/inprocess";
import type { Batch, DevicePointer } from "@tesseract-ts/transport-cuda-ipc";
import { z } from "zod";
import { after, byCopies, ITEM } from "./on-device.js";
import { bandsOf, shiftsOf } from "./winds.js";

export default defineTesseract({
  name: "advect",
  gpuArrays: true,
  inputs: z.object({
    tracer: array("float32", [null, null]).describe("How much there is in each cell."),
    firstStep: z.int().min(0).default(0).describe("Which step is the first: each has phases of its own."),
    steps: z.int().min(1).max(1000).default(1).describe("Steps in time, of two winds each."),
    strength: z.number().min(0).max(1).default(0.3).describe("How far a wind blows at most, as a part of the square."),
  }),
  outputs: z.object({ tracer: array("float32", [null, null]).describe("The same after the last step.") }),
  apply: async ({ tracer, firstStep, steps, strength }) => ({
    tracer: await byCopies(
      tracer,
      (rows, columns) => [rows, columns],
      (batch, { pointer, rows, columns }, result, scratch) => {
        let from = pointer;
        for (let step = firstStep; step < firstStep + steps; step++) {
          moveRows(batch, scratch, from, columns, shiftsOf(step, "rows", rows, columns, strength));
          moveColumns(batch, result, scratch, rows, shiftsOf(step, "columns", columns, rows, strength));
          from = result;
        }
      },
    ),
  }),
});

function moveRows(batch: Batch, to: DevicePointer, from: DevicePointer, columns: number, shifts: number[]): void {
  const pitch = columns * ITEM;
  for (const { from: row, lines, shift } of bandsOf(shifts)) {
    const [start, moved, rest] = [row * pitch, shift * ITEM, (columns - shift) * ITEM];
    batch.copy2D(after(to, start + moved), pitch, after(from, start), pitch, rest, lines);
    if (shift > 0) batch.copy2D(after(to, start), pitch, after(from, start + rest), pitch, moved, lines);
  }
}

function moveColumns(batch: Batch, to: DevicePointer, from: DevicePointer, rows: number, shifts: number[]): void {
  const pitch = shifts.length * ITEM;
  for (const { from: column, lines, shift } of bandsOf(shifts)) {
    const [start, width] = [column * ITEM, lines * ITEM];
    const [moved, rest] = [shift * pitch, (rows - shift) * pitch];
    batch.copy2D(after(to, start + moved), pitch, after(from, start), pitch, width, rows - shift);
    if (shift > 0) batch.copy2D(after(to, start), pitch, after(from, start + rest), pitch, width, shift);
  }
}
