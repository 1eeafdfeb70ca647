// Heat in a rod whose ends are kept at 0, and exact derivatives of it. The rod starts at 0 everywhere.
//
// Explicit finite differences in time and space, with the distance between points as the unit of length:
//
//     T[n+1] = T[n] + dt * (conductivity * laplacian(T[n]) + source)
//
// T is linear in the source, so its tangents follow the same rule; cotangents follow its transpose, backwards in time.
// `tesseract_api.py` is the same in Python.

import type { CudaArray, HostArray } from "@tesseract-ts/core";
import { array, defineTesseract, differentiable } from "@tesseract-ts/inprocess";
import { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import { z } from "zod";

/** One value for each point, (n,); or one alone, (). */
type Real = HostArray<"float64"> | CudaArray;

const rod = () => differentiable(array("float64", [null]));
const scalar = () => differentiable(array("float64", []));

export default defineTesseract({
  name: "heat",
  gpuArrays: true,
  inputs: z.object({
    source: rod().describe("Heat added at each point, per unit of time."),
    conductivity: scalar().prefault(0.25).describe("How fast heat spreads."),
    steps: z.int().min(0).default(100).describe("How many steps in time to take."),
    dt: z.number().positive().default(1).describe("How long a step is: conductivity * dt can be 0.5 at most."),
  }),
  outputs: z.object({
    temperature: rod().describe("The temperature at each point after the last step."),
    total: scalar().describe("The heat in the rod: the sum of its temperatures."),
  }),

  apply: async (inputs) => {
    const { source, conductivity } = await numbersOf(inputs);
    let last = new Float64Array(source.length);
    for (const temperature of temperatures(source, conductivity, inputs)) last = temperature;
    const like = returnedLike(inputs.source);
    return { temperature: await like(last), total: await like(sum(last)) };
  },

  jacobianVectorProduct: async ({ inputs, jvpOutputs, tangents }) => {
    const { source, conductivity } = await numbersOf(inputs);
    const along = tangents.source === undefined ? undefined : await onHost(tangents.source);
    const [spreading = 0] = tangents.conductivity === undefined ? [] : await onHost(tangents.conductivity);
    let tangent = new Float64Array(source.length);
    for (const temperature of beforeEachStep(temperatures(source, conductivity, inputs))) {
      const [ofTangent, ofTemperature] = [laplacian(tangent), laplacian(temperature)];
      tangent = tangent.map(
        (value, i) =>
          value +
          inputs.dt * (conductivity * (ofTangent[i] ?? 0) + spreading * (ofTemperature[i] ?? 0) + (along?.[i] ?? 0)),
      );
    }
    const like = returnedLike(inputs.source);
    return asked(jvpOutputs, { temperature: () => like(tangent), total: () => like(sum(tangent)) });
  },

  vectorJacobianProduct: async ({ inputs, vjpInputs, cotangents }) => {
    const { source, conductivity } = await numbersOf(inputs);
    const ofTemperature = cotangents.temperature === undefined ? undefined : await onHost(cotangents.temperature);
    const [ofTotal = 0] = cotangents.total === undefined ? [] : await onHost(cotangents.total);
    let cotangent = source.map((_, i) => (ofTemperature?.[i] ?? 0) + ofTotal);
    let bySource = new Float64Array(source.length);
    let byConductivity = 0;
    for (const temperature of [...beforeEachStep(temperatures(source, conductivity, inputs))].reverse()) {
      bySource = bySource.map((value, i) => value + inputs.dt * (cotangent[i] ?? 0));
      byConductivity += inputs.dt * dot(cotangent, laplacian(temperature));
      const spread = laplacian(cotangent);
      cotangent = cotangent.map((value, i) => value + inputs.dt * conductivity * (spread[i] ?? 0));
    }
    const like = returnedLike(inputs.source);
    return asked(vjpInputs, { source: () => like(bySource), conductivity: () => like(byConductivity) });
  },

  abstractEval: ({ source }) => ({
    temperature: { shape: source.shape, dtype: "float64" },
    total: { shape: [], dtype: "float64" },
  }),
});

/** The temperature before the first step, and after each. */
function* temperatures(
  source: Float64Array,
  conductivity: number,
  { steps, dt }: { readonly steps: number; readonly dt: number },
): Generator<Float64Array<ArrayBuffer>> {
  if (!(conductivity * dt >= 0 && conductivity * dt <= 0.5)) {
    throw new RangeError("conductivity * dt must be from 0 to 0.5, or the steps grow without bound");
  }
  let temperature = new Float64Array(source.length);
  yield temperature;
  for (let step = 0; step < steps; step++) {
    const spread = laplacian(temperature);
    temperature = temperature.map((value, i) => value + dt * (conductivity * (spread[i] ?? 0) + (source[i] ?? 0)));
    yield temperature;
  }
}

/** All but the last. */
const beforeEachStep = (all: Iterable<Float64Array<ArrayBuffer>>) => [...all].slice(0, -1);

/** The second difference, (n,) -> (n,), with zeros beyond both ends. It is its own transpose. */
const laplacian = (values: Float64Array): Float64Array =>
  values.map((value, i) => (values[i - 1] ?? 0) - 2 * value + (values[i + 1] ?? 0));

const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
const dot = (a: Float64Array, b: Float64Array): number => a.reduce((total, value, i) => total + value * (b[i] ?? 0), 0);

const numbersOf = async (inputs: { readonly source: Real; readonly conductivity: Real }) => {
  const [source, [conductivity = 0]] = await Promise.all([onHost(inputs.source), onHost(inputs.conductivity)]);
  return { source, conductivity };
};

/** TypeScript computes on the host, wherever an array is. */
async function onHost(given: Real): Promise<Float64Array> {
  const found = "cudaArrayInterface" in given ? await given.copyToHost?.() : given;
  if (found?.dtype !== "float64") throw new TypeError("An array that can't be read");
  return found.data;
}

/** Results go back to where the source is. */
const returnedLike =
  (source: Real) =>
  async (values: Float64Array | number): Promise<HostArray | CudaArray | number | Float64Array> => {
    if (!("cudaArrayInterface" in source)) return values;
    const isScalar = typeof values === "number";
    const { device } = source;
    return DeviceArray.fromHost(isScalar ? Float64Array.of(values) : values, {
      shape: isScalar ? [] : [values.length],
      ...(device === undefined ? {} : { device }),
    });
  };

/** Only what a call asks for is made: a GPU array that nobody asked for would have no owner. */
async function asked<T>(paths: readonly string[], make: Readonly<Record<string, () => Promise<T>>>) {
  const made = Object.entries(make)
    .filter(([path]) => paths.includes(path))
    .map(async ([path, one]): Promise<[string, T]> => [path, await one()]);
  return Object.fromEntries(await Promise.all(made));
}
