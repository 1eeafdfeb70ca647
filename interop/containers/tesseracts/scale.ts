/** A Tesseract for images: of several modules, with a file that one of them reads. */
import { array, defineTesseract, differentiable } from "@tesseract-ts/inprocess";
import { z } from "zod";
import { factor } from "./lib/factor.js";

export default defineTesseract({
  name: "scale",
  version: "1.2.3",
  description: 'Says "scaled", for $1',
  inputs: z.object({ x: differentiable(array("float64", [null])) }),
  outputs: z.object({ y: differentiable(array("float64", [null])) }),
  apply: async ({ x }, context) => {
    context.log(`scaling ${x.data.length} numbers`);
    const by = await factor();
    return { y: x.data.map((value) => value * by) };
  },
});
