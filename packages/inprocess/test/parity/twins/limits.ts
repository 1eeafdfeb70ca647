// The fixture `limits` in TypeScript: limits, a union with a discriminator, and arrays of any dtype or of one element.
import { z } from "zod";
import { array, defineTesseract } from "../../../src/index.js";

const cat = z.object({ kind: z.literal("cat"), lives: z.int().min(0).lt(10) }).meta({ title: "Cat" });
const dog = z
  .object({ kind: z.enum(["dog", "hound"]), name: z.string().min(2).max(4).regex(/^r/) })
  .meta({ title: "Dog" });

const schema = z.object({
  pet: z.discriminatedUnion("kind", [cat, dog]).nullable().default(null),
  counts: z.array(z.int()).max(3).default([]),
  names: z.array(z.string()).min(1).default(["a"]),
  ratio: z.number().positive().max(5).multipleOf(0.5).default(1),
  level: z.literal([1, 2, "top"]).default(1),
  either: z
    .union([z.array(z.int()), z.record(z.string(), z.number())])
    .nullable()
    .default(null),
  number: z.union([z.int(), z.number(), z.string()]).default(0),
  raw: array("any dtype", "any rank").prefault(0),
  single: array("float32", [1, null]).nullable().default(null),
});

export default defineTesseract({ name: "limits", inputs: schema, outputs: schema, apply: (inputs) => inputs });
