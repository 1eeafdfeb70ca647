// The fixture `trees` in TypeScript: every form that a tree may have.
import { z } from "zod";
import { array, defineTesseract } from "../../../src/index.js";

const leaf = z.object({ x: array("float64", [null]), label: z.string().default("leaf") }).meta({ title: "Leaf" });
const branch = z.object({ left: leaf, right: leaf.nullable().default(null) }).meta({ title: "Branch" });
const square = z.object({ kind: z.literal("square"), side: array("float64", []) }).meta({ title: "Square" });
const circle = z.object({ kind: z.literal("circle"), radius: array("float64", []) }).meta({ title: "Circle" });
const anything = () => array("float64", "any rank");

const tree = z.object({
  branch,
  stack: z.array(anything()).default([]),
  leaves: z.array(leaf).default([]),
  pair: z
    .tuple([array("float64", []), array("int32", [null])])
    .nullable()
    .default(null),
  params: z.record(z.string(), anything()).default({}),
  models: z.record(z.string(), leaf).default({}),
  grid: z.record(z.string(), z.array(z.array(anything()))).default({}),
  maybe: array("float64", [null]).nullable().default(null),
  preset: array("float64", [3]).prefault([1, 2, 3]),
  array_or_text: z.union([anything(), z.string()]).default("none"),
  shape: z.union([square, circle]).nullable().default(null),
  text: z.string().default("text"),
  count: z.int().default(1),
  big_count: array("int64", []).prefault(1),
  ratio: z.number().default(0.5),
  flag: z.boolean().default(true),
  mode: z.enum(["fast", "exact"]).default("fast"),
  notes: z.record(z.string(), z.union([z.string(), z.int(), z.number(), z.boolean(), z.null()])).default({}),
});

export default defineTesseract({
  name: "trees",
  inputs: tree,
  outputs: tree.extend({ keys: z.array(z.string()) }),
  apply: (inputs) => ({
    ...inputs,
    keys: [...Object.keys(inputs.params), ...Object.keys(inputs.models), ...Object.keys(inputs.grid)],
  }),
  abstractEval: (inputs) => ({
    ...inputs,
    keys: [...Object.keys(inputs.params), ...Object.keys(inputs.models), ...Object.keys(inputs.grid)],
  }),
});
