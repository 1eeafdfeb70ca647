// What holds for all values: casts lose nothing, broadcasts repeat, and no request makes a runner fail in another way than it says.
import {
  type DType,
  dtypeKind,
  dtypes,
  elementCount,
  type HostArray,
  hostArray,
  isHostArray,
  toNestedList,
} from "@tesseract-ts/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { array, createRunner, defineTesseract } from "../src/index.js";
import { partsOf, valueAt, withValuesAt } from "../src/schema/paths.js";
import { isFault, takeArray } from "../src/validate/arrays.js";
import { outcomeHere } from "./parity/outcomes.js";

const mode = { received: false, strict: false };
const real = dtypes.filter((dtype) => !["bool", "complex64", "complex128"].includes(dtype));
const shapes = fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 });

/** Integers that each dtype of `real` holds. */
const small = (shape: readonly number[], dtype: DType): HostArray =>
  hostArray(
    nested(shape, (index) => index % 100),
    { dtype, shape },
  );

function nested(shape: readonly number[], value: (index: number) => number): never {
  let index = 0;
  const build = (depth: number): unknown =>
    depth === shape.length ? value(index++) : Array.from({ length: shape[depth] as number }, () => build(depth + 1));
  return build(0) as never;
}

describe("an array that is cast", () => {
  test("keeps its values, or is refused", () => {
    fc.assert(
      fc.property(fc.constantFrom(...real), fc.constantFrom(...real), shapes, (from, to, shape) => {
        const source = small(shape, from);
        const taken = takeArray(source, { dtype: to, shape: "any rank", differentiable: false }, mode);
        if (isFault(taken)) {
          expect(taken.type).toBe("array_dtype_mismatch");
          expect(dtypeKind(from) === "float" && dtypeKind(to) !== "float").toBe(true);
          return;
        }
        if (!isHostArray(taken)) throw new Error("no host array");
        expect([taken.dtype, taken.shape]).toEqual([to, shape]);
        expect(JSON.stringify(toNestedList(taken), String_)).toBe(JSON.stringify(toNestedList(source), String_));
      }),
    );
  });

  test("is refused when a whole number doesn't fit, and only then", () => {
    const widths = {
      int8: [-128, 127],
      uint8: [0, 255],
      int16: [-32768, 32767],
      uint16: [0, 65535],
      int32: [-(2 ** 31), 2 ** 31 - 1],
    } as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...(Object.keys(widths) as (keyof typeof widths)[])),
        fc.integer(),
        (dtype, value) => {
          const taken = takeArray([value, 0], { dtype, shape: [2], differentiable: false }, mode);
          const [low, high] = widths[dtype];
          expect(isFault(taken)).toBe(value < low || value > high);
          if (isFault(taken)) expect(taken.ctx).toEqual({ expected_dtype: dtype, value: String(value) });
        },
      ),
    );
  });
});

const String_ = (_key: string, value: unknown): unknown => (typeof value === "bigint" ? Number(value) : value);

describe("an array that is broadcast", () => {
  test("has the element of its source wherever a dimension is repeated", () => {
    const dimension = fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean());
    fc.assert(
      fc.property(
        fc.array(dimension, { maxLength: 4 }),
        fc.constantFrom<DType>("float64", "int8", "complex64"),
        (dimensions, dtype) => {
          const shape = dimensions.map(([size, repeated]) => (repeated ? 1 : size));
          const wanted = dimensions.map(([size]) => size);
          const count = elementCount(shape);
          const entries = dtype === "complex64" ? 2 * count : count;
          const data =
            dtype === "int8"
              ? new Int8Array(entries)
              : dtype === "float64"
                ? new Float64Array(entries)
                : new Float32Array(entries);
          data.forEach((_, index) => {
            data[index] = index + 1;
          });
          const source = hostArray(data, { dtype, shape });
          const taken = takeArray(source, { dtype, shape: wanted, differentiable: false }, mode);
          if (isFault(taken) || !isHostArray(taken)) throw new Error("refused");
          expect(taken.shape).toEqual(wanted);
          const at = (list: unknown, index: readonly number[]): unknown =>
            index.reduce((value: unknown, position) => (value as readonly unknown[])[position], list);
          const indices = wanted.reduce<number[][]>(
            (all, size) => all.flatMap((index) => Array.from({ length: size }, (_, next) => [...index, next])),
            [[]],
          );
          const [broad, narrow] = [toNestedList(taken), toNestedList(source)];
          for (const index of indices) {
            expect(at(broad, index)).toEqual(
              at(
                narrow,
                index.map((position, axis) => (shape[axis] === 1 ? 0 : position)),
              ),
            );
          }
        },
      ),
    );
  });
});

describe("a path", () => {
  test("leads to what was put there, whatever the key", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat(5), (key, index) => {
        const escaped = key.replace(/[{}\\]/g, "\\$&");
        const path = `tree.{${escaped}}.[${index}].leaf`;
        const list = Array.from({ length: 6 }, (_, position) => ({ leaf: position }));
        const record = Object.fromEntries([[key, list]]);
        expect(valueAt({ tree: record }, path)).toBe(index);
        const changed = withValuesAt({ tree: record }, { [path]: "new" });
        expect(valueAt(changed, path)).toBe("new");
        expect(valueAt({ tree: record }, path)).toBe(index);
      }),
    );
  });

  test("that is none is none", () => {
    for (const path of ["", "a..b", "[x]", "{}", "a-b", "a.", ".a"]) expect(partsOf(path)).toBeUndefined();
  });
});

describe("a runner", () => {
  test("answers or refuses whatever it is sent, with a type and a place for each fault", async () => {
    const json = fc.jsonValue({ maxDepth: 4 });
    const member = fc.oneof(
      json,
      fc.constantFrom([1, 2], [[1]], 1, true, null, "x", {
        object_type: "array",
        shape: [1],
        dtype: "float64",
        data: { encoding: "json", buffer: [1] },
      }),
    );
    const inputs = fc.record(
      {
        branch: fc.record({ left: fc.record({ x: member }) }),
        stack: member,
        pair: member,
        params: member,
        models: member,
        shape: member,
        notes: member,
        count: member,
      },
      { requiredKeys: ["branch"] },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("apply", "abstract_eval"),
        fc.oneof(json, fc.record({ inputs })),
        async (route, body) => {
          const outcome = await outcomeHere({ fixture: "trees", route, body });
          expect([200, 422]).toContain(outcome.status);
          if (outcome.status !== 422) return;
          expect(outcome.issues.length).toBeGreaterThan(0);
          for (const { type, loc } of outcome.issues) expect([typeof type, loc[0]]).toEqual(["string", "body"]);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("gives back any array of any dtype bit by bit", async () => {
    const echo = defineTesseract({
      name: "echo",
      inputs: z.object({ x: array("any dtype", "any rank") }),
      outputs: z.object({ x: array("any dtype", "any rank") }),
      apply: (given) => given,
    });
    const runner = createRunner(echo);
    const context = {
      signal: new AbortController().signal,
      runId: "r",
      outputDirectory: () => Promise.resolve(""),
      log: () => {},
    };
    await fc.assert(
      fc.asyncProperty(fc.float64Array(), async (values) => {
        const x = hostArray(values, { dtype: "float64" });
        const answer = await runner.run({ route: "apply", payload: { inputs: { x } }, context, ownsInputs: false });
        expect(answer).toEqual({ kind: "answered", outputs: { x } });
      }),
    );
  });
});
