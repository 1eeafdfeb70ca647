/** A Tesseract to call: scales an array. */
import { array, defineTesseract, differentiable } from "@tesseract-ts/inprocess";
import { z } from "zod";

export default defineTesseract({
  name: "scale",
  inputs: z.object({ x: differentiable(array("float64", [null])), factor: z.number().default(2) }),
  outputs: z.object({ y: differentiable(array("float64", [null])) }),
  apply: ({ x, factor }) => ({ y: x.data.map((value) => value * factor) }),
});
