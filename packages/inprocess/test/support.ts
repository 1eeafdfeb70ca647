// What several tests need: errors by their code, Tesseracts that end with the test, GPU arrays that are none.
import {
  type CudaArray,
  type HostArray,
  hostArray,
  type Tesseract,
  TesseractError,
  type TesseractTypes,
} from "@tesseract-ts/core";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { array, defineTesseract, differentiable } from "../src/index.js";

type Code = TesseractError["code"];

/** Matches a TesseractError of this code whose message has all of these words. */
export const tesseractError = (code: Code, ...words: readonly string[]): unknown =>
  expect.toSatisfy(
    (error: unknown) =>
      error instanceof TesseractError && error.code === code && words.every((word) => error.message.includes(word)),
    `${code}: ${words.join(" … ")}`,
  );

/** The Tesseract, closed when the test ends. */
export async function open<T extends TesseractTypes>(opening: Promise<Tesseract<T>>): Promise<Tesseract<T>> {
  const tesseract = await opening;
  onTestFinished(() => tesseract.close());
  return tesseract;
}

export const floats = (...values: number[]): HostArray<"float64"> =>
  hostArray(new Float64Array(values), { dtype: "float64" });

/** A GPU array as far as this package looks at one: its interface, and a way to the host that is counted. */
export function gpuArray(values: readonly number[]): CudaArray & { readonly copies: () => number } {
  let copies = 0;
  return {
    cudaArrayInterface: {
      shape: [values.length],
      typestr: "<f8",
      data: [0x7000_0000_0000n, false],
      version: 3,
    },
    device: "00000000-0000-0000-0000-000000000000",
    copies: () => copies,
    copyToHost: async () => {
      copies++;
      return floats(...values);
    },
  };
}

const vector = () => differentiable(array("float64", [null]));

/** y = factor * x */
export const scale = defineTesseract({
  name: "scale",
  version: "1.2.3",
  description: "Scales a vector.",
  inputs: z.object({ x: vector(), factor: z.number().default(2) }),
  outputs: z.object({ y: vector() }),
  apply: ({ x, factor }) => ({ y: x.data.map((value) => value * factor) }),
  vectorJacobianProduct: ({ inputs, cotangents }) => ({ x: cotangents.y.data.map((value) => value * inputs.factor) }),
});
