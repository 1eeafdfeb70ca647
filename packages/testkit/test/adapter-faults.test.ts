// The suite for array adapters finds faults: adapters that are broken on purpose fail in the expected cases, and in no other.
import { type ArrayAdapter, type HostArray, makeHostArray, TesseractError, viewAs } from "@tesseract-ts/core";
import { expect, test } from "vitest";
import { adapterConformance, ConformanceError, runConformance } from "../src/index.js";

/** An array of a library that is made up. */
class Grid {
  reads = 0;
  disposed = false;
  constructor(readonly held: HostArray) {}
  index(): void {}
}

type Fault =
  | "recognizes every object"
  | "looks into plain objects"
  | "forgets the shape"
  | "gives float64 in reverse"
  | "can be read once"
  | "copies"
  | "takes over what it is made of"
  | "reads what was disposed of";

const copied = ({ dtype, shape, data }: HostArray): HostArray =>
  makeHostArray(dtype, shape, viewAs(dtype, data.slice().buffer as ArrayBuffer));

function adapterWith(fault?: Fault): ArrayAdapter {
  return {
    name: "grids",
    adapt(value) {
      if (fault === "looks into plain objects" && "held" in value && value instanceof Map) return undefined;
      if (fault === "recognizes every object" && value instanceof Date)
        return { dtype: "bool", shape: [], read: () => never() };
      if (!(value instanceof Grid)) return undefined;
      const { dtype, shape } = value.held;
      if (value.disposed && fault !== "reads what was disposed of")
        throw new TesseractError("INVALID_ARRAY", "It was disposed of");
      return {
        dtype,
        shape: fault === "forgets the shape" && shape.length === 3 ? [shape.length] : shape,
        read() {
          value.reads++;
          if (fault === "can be read once" && value.reads > 1) throw new Error("It was read before");
          if (fault === "gives float64 in reverse" && dtype === "float64") {
            return makeHostArray(dtype, shape, Float64Array.from(value.held.data as Float64Array).reverse());
          }
          return fault === "copies" ? copied(value.held) : value.held;
        },
      };
    },
  };
}

const never = (): never => {
  throw new Error("It isn't read");
};

async function failures(fault?: Fault): Promise<string[]> {
  const disposed = new Grid(makeHostArray("int8", [1], new Int8Array(1)));
  disposed.disposed = true;
  const suite = adapterConformance({
    name: "grids",
    adapter: adapterWith(fault),
    dtypes: ["float64", "int64", "bool"],
    make: (array) => new Grid(fault === "takes over what it is made of" ? copied(array) : array),
    memoryOf: ({ held }: Grid) => held.data.buffer,
    sharesRead: () => true,
    sharesMade: () => true,
    unreadable: () => ({ "a disposed grid": disposed }),
  });
  const results = await runConformance(suite);
  return results.flatMap((result) => {
    if (result.ok) return [];
    expect(result.error).toBeInstanceOf(ConformanceError);
    return [result.id];
  });
}

test("without a fault, every case passes", async () => expect(await failures()).toEqual([]));

const faults: Readonly<Record<Fault, readonly string[]>> = {
  "recognizes every object": ["ignore"],
  "looks into plain objects": ["ignore"],
  "forgets the shape": ["recognize", "read-float64", "read-int64", "read-bool", "stays", "shares-read"],
  "gives float64 in reverse": ["read-float64", "stays", "shares-read"],
  "can be read once": ["stays"],
  copies: ["shares-read"],
  "takes over what it is made of": ["shares-made"],
  "reads what was disposed of": ["unreadable"],
};
test.each(Object.entries(faults) as [Fault, readonly string[]][])(
  "an adapter that %s fails in %j",
  async (fault, expected) => {
    expect(await failures(fault)).toEqual(expected);
  },
);
