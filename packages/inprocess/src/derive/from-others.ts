/** jvp, vjp and jacobian from one another. */
import { elementCount, type HostArray, TesseractError } from "@tesseract-ts/core";
import type { EndpointContext } from "../definition.js";
import type { DerivativeRequest, DerivedGradient, Endpoints, HostArrays, Jacobian, VectorRequest } from "./derived.js";
import { fromReal, type RealArray, realAt, toReal, zerosLike } from "./real-arrays.js";
import { Turns } from "./turns.js";

type JacobianOf = (request: DerivativeRequest, endpoints: Endpoints, context: EndpointContext) => Promise<Jacobian>;

/** From `jacobian`, in one call of it. */
export const fromJacobian = (): DerivedGradient =>
  derivedFrom("jacobian", (request, endpoints) => endpoints.jacobian(request));

/**
 * From `jacobianVectorProduct`, one call for each element of the inputs. For few inputs and many outputs.
 */
export const fromJacobianVectorProduct = (): DerivedGradient =>
  derivedFrom("jacobian_vector_product", async (request, endpoints, context) => {
    const turns = new Turns(context);
    const rows: Record<string, Record<string, RealArray>> = {};
    for (const path of request.wrt) {
      const input = realAt(request.inputs, path);
      const zeros = Object.fromEntries(request.wrt.map((other) => [other, zerosLike(realAt(request.inputs, other))]));
      for (let element = 0; element < input.values.length; element++) {
        await turns.next();
        const slopes = await endpoints.jvp({ ...request, vector: unit(zeros, path, element) });
        for (const output of request.of) {
          const slope = toReal(slopes[output] as HostArray, output);
          rows[output] ??= {};
          const row = rows[output];
          row[path] ??= zerosLike(slope, input.shape);
          const block = row[path];
          slope.values.forEach((value, index) => {
            block.values[index * input.values.length + element] = value;
          });
        }
      }
    }
    return complete(rows, request, endpoints);
  });

/**
 * From `vectorJacobianProduct`, one call for each element of the outputs, and one of `apply` for their shapes. For few
 * outputs and many inputs.
 */
export const fromVectorJacobianProduct = (): DerivedGradient =>
  derivedFrom("vector_jacobian_product", async (request, endpoints, context) => {
    const turns = new Turns(context);
    const outputs = await endpoints.apply(request.inputs);
    const zeros = Object.fromEntries(request.of.map((path) => [path, zerosLike(realAt(outputs, path))]));
    const result: Record<string, HostArrays> = {};
    for (const path of request.of) {
      const output = realAt(outputs, path);
      const row = Object.fromEntries(
        request.wrt.map((input) => [input, zerosLike(output, realAt(request.inputs, input).shape)]),
      );
      for (let element = 0; element < output.values.length; element++) {
        await turns.next();
        const gradients = await endpoints.vjp({ ...request, vector: unit(zeros, path, element) });
        for (const input of request.wrt) {
          const { values } = toReal(gradients[input] as HostArray, input);
          row[input]?.values.set(values, element * values.length);
        }
      }
      result[path] = Object.fromEntries(Object.entries(row).map(([input, block]) => [input, fromReal(block)]));
    }
    return result;
  });

function derivedFrom(from: DerivedGradient["from"], jacobianOf: JacobianOf): DerivedGradient {
  return {
    derived: "gradient",
    from,
    jacobian: jacobianOf,
    jvp: async (request, endpoints, context) => forward(await jacobianOf(request, endpoints, context), request),
    vjp: async (request, endpoints, context) => backward(await jacobianOf(request, endpoints, context), request),
  };
}

/** Each row of the Jacobian, times the tangents. */
function forward(jacobian: Jacobian, { inputs, wrt, of, vector }: VectorRequest): HostArrays {
  return Object.fromEntries(
    of.map((output) => {
      let sum: RealArray | undefined;
      for (const path of wrt) {
        const block = toReal(jacobian[output]?.[path] as HostArray, output);
        const tangent = toReal(vector[path] as HostArray, path);
        const rank = block.shape.length - realAt(inputs, path).shape.length;
        const total: RealArray = sum ?? zerosLike({ ...block, shape: block.shape.slice(0, rank) });
        sum = total;
        const size = tangent.values.length;
        for (let index = 0; index < total.values.length; index++) {
          let value = total.values[index] as number;
          for (let element = 0; element < size; element++) {
            value += (block.values[index * size + element] as number) * (tangent.values[element] as number);
          }
          total.values[index] = value;
        }
      }
      return [output, fromReal(sum as RealArray)];
    }),
  );
}

/** The cotangents, times each column of the Jacobian. */
function backward(jacobian: Jacobian, { inputs, wrt, of, vector }: VectorRequest): HostArrays {
  return Object.fromEntries(
    wrt.map((path) => {
      const gradient = zerosLike(realAt(inputs, path));
      const size = gradient.values.length;
      for (const output of of) {
        const block = toReal(jacobian[output]?.[path] as HostArray, output);
        const cotangent = toReal(vector[output] as HostArray, output);
        if (cotangent.values.length * size !== block.values.length) {
          throw new TesseractError("INVALID_ARGUMENT", `The cotangent of "${output}" has another size than the output`);
        }
        cotangent.values.forEach((weight, index) => {
          for (let element = 0; element < size; element++) {
            gradient.values[element] =
              (gradient.values[element] as number) + weight * (block.values[index * size + element] as number);
          }
        });
      }
      return [path, fromReal(gradient)];
    }),
  );
}

/** Zeros, with a one at one element. */
function unit(zeros: Readonly<Record<string, RealArray>>, path: string, element: number): HostArrays {
  return Object.fromEntries(
    Object.entries(zeros).map(([name, array]) => {
      const values = new Float64Array(array.values.length);
      if (name === path) values[element] = 1;
      return [name, fromReal({ ...array, values })];
    }),
  );
}

/** Blocks for inputs without elements too, which no call was made for. */
async function complete(
  rows: Readonly<Record<string, Readonly<Record<string, RealArray>>>>,
  { inputs, wrt, of }: DerivativeRequest,
  endpoints: Endpoints,
): Promise<Jacobian> {
  const isEmpty = (path: string): boolean => elementCount(realAt(inputs, path).shape) === 0;
  const outputs = wrt.some(isEmpty) ? await endpoints.apply(inputs) : {};
  return Object.fromEntries(
    of.map((output) => [
      output,
      Object.fromEntries(
        wrt.map((path) => {
          const block = rows[output]?.[path] ?? zerosLike(realAt(outputs, output), realAt(inputs, path).shape);
          return [path, fromReal(block)];
        }),
      ),
    ]),
  );
}
