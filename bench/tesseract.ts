/** The identity of one float64 array, as tesseract_api.py has it. */
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

export default defineTesseract({
  name: "identity",
  inputs: z.object({ x: array("float64", [null]) }),
  outputs: z.object({ y: array("float64", [null]) }),
  apply: ({ x }) => ({ y: x }),
});
