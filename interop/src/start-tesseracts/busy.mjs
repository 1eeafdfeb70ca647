// Never answers, and lets nothing else run.
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

export default defineTesseract({
  name: "busy",
  inputs: z.object({ x: array("float64", [null]) }),
  outputs: z.object({ y: array("float64", [null]) }),
  apply: () => {
    for (;;);
  },
});
