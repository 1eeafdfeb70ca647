import { array, defineTesseract } from "@tesseract-ts/inprocess";
import { serve } from "@tesseract-ts/serve";
import { z } from "zod";

const scale = defineTesseract({
  name: "scale",
  inputs: z.object({ x: array("float64", [null]), factor: z.number().default(2) }),
  outputs: z.object({ y: array("float64", [null]) }),
  apply: ({ x, factor }) => ({ y: x.data.map((value) => value * factor) }),
});

export const served = await serve(scale, { port: 0 });
console.log(served.url); // http://127.0.0.1:8000
