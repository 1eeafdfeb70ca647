// The fixture `plain` in TypeScript: only `apply`.
import { z } from "zod";
import { array, defineTesseract } from "../../../src/index.js";

const vector = () => array("float64", [null]);

export default defineTesseract({
  name: "plain",
  inputs: z.object({ name: z.string(), a: vector(), b: vector() }),
  outputs: z.object({ greeting: z.string(), total: vector() }),
  apply: ({ name, a, b }) => {
    if (a.data.length !== b.data.length) throw new Error("the vectors have different lengths");
    return { greeting: `Hello ${name}!`, total: a.data.map((value, index) => value + (b.data[index] as number)) };
  },
});
