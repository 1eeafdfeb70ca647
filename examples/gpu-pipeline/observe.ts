// What sensors see of a field: its value at every n-th cell in both directions.

import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";
import { byCopies, ITEM } from "./on-device.js";

export default defineTesseract({
  name: "observe",
  gpuArrays: true,
  inputs: z.object({
    field: array("float32", [null, null]),
    every: z.int().min(1).default(4).describe("From one sensor to the next, in cells."),
  }),
  outputs: z.object({ readings: array("float32", [null, null]).describe("One value for each sensor.") }),
  apply: async ({ field, every }) => {
    const sensors = (cells: number): number => Math.ceil(cells / every);
    return {
      readings: await byCopies(
        field,
        (rows, columns) => [sensors(rows), sensors(columns)],
        (batch, { pointer, rows, columns }, result) => {
          const shape = [sensors(rows), sensors(columns)];
          batch.copyStrided(result, pointer, {
            shape,
            strides: [every * columns * ITEM, every * ITEM],
            itemSize: ITEM,
          });
        },
      ),
    };
  },
});
