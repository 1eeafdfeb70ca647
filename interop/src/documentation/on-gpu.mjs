// A Tesseract that takes GPU arrays, for `doctor` to start.

import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

const vector = array("float64", [null]);

export default defineTesseract({
  name: "on-gpu",
  inputs: z.object({ x: vector }),
  outputs: z.object({ y: vector }),
  gpuArrays: true,
  apply: ({ x }) => ({ y: x }),
});
