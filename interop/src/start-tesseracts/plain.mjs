// A Tesseract in JavaScript.
import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { z } from "zod";

export const tesseract = defineTesseract({
  name: "plain",
  inputs: z.object({ x: array("float64", [null]) }),
  outputs: z.object({ y: array("float64", [null]) }),
  apply: ({ x }) => ({ y: x.data }),
});
