/** Derivatives by finite differences of `apply`. */
import { TesseractError } from "@tesseract-ts/core";
import { withValuesAt } from "../schema/paths.js";
import type { DerivativeRequest, DerivedGradient, Endpoints, HostArrays, Jacobian, Tree } from "./derived.js";
import { randomSigns } from "./random-signs.js";
import { dot, fromReal, norm, type RealArray, realAt, toReal, zerosLike } from "./real-arrays.js";
import { Turns } from "./turns.js";

export interface FiniteDifferencesOptions {
  /**
   * - `central` (the default): (f(x+h) - f(x-h)) / 2h, two calls of `apply` for each element; the error is of order h².
   * - `forward`: (f(x+h) - f(x)) / h, one call for each element and one more; the error is of order h.
   * - `random`: all elements are moved at once, in random directions, two calls for each sample. An estimate, for inputs
   *   with so many elements that one call for each is too much; its error falls with the root of the samples.
   */
  readonly method?: "central" | "forward" | "random";
  /**
   * The step h, as it is added to elements; for all inputs, or by path. If left out, each element's own:
   * max(1, |x|) times the cube root of the dtype's precision (`forward`: the square root).
   */
  readonly step?: number | Readonly<Record<string, number>>;
  /** Of `random`: how many directions. The root of the number of elements if left out, and at least 10. */
  readonly samples?: number;
  /** Of `random`: makes the directions the same in each call. */
  readonly seed?: number;
}

/** The distance from 1 to the next number of each dtype. */
const precision: Readonly<Record<string, number>> = { float16: 2 ** -10, float32: 2 ** -23, float64: 2 ** -52 };

/**
 * Derives an endpoint from `apply` by finite differences. It serves for each of `jacobian`, `jacobianVectorProduct` and
 * `vectorJacobianProduct`; the second costs but two calls of `apply`, whatever the size.
 *
 * @throws TesseractError INVALID_ARGUMENT
 *
 * @example
 * defineTesseract({ …, apply, vectorJacobianProduct: derivatives.finiteDifferences({ method: "central" }) });
 */
export function finiteDifferences(options: FiniteDifferencesOptions = {}): DerivedGradient {
  checkOptions(options);
  return {
    derived: "gradient",
    from: "apply",
    async jacobian(request, endpoints, context) {
      const difference = new Difference(options, request, endpoints, new Turns(context));
      const rows: Record<string, Record<string, RealArray>> = {};
      await difference.forEachElement((path, element, slopes, weight) => {
        const input = realAt(request.inputs, path);
        for (const [output, slope] of Object.entries(slopes)) {
          rows[output] ??= {};
          const row = rows[output];
          row[path] ??= zerosLike(slope, input.shape);
          const block = row[path];
          const size = input.values.length;
          for (let index = 0; index < slope.values.length; index++) {
            const at = index * size + element;
            block.values[at] = (block.values[at] as number) + weight * (slope.values[index] as number);
          }
        }
      });
      return difference.complete(rows);
    },
    async jvp(request, endpoints, context) {
      const difference = new Difference(options, request, endpoints, new Turns(context));
      return difference.along(request.vector);
    },
    async vjp(request, endpoints, context) {
      const difference = new Difference(options, request, endpoints, new Turns(context));
      const gradients = Object.fromEntries(request.wrt.map((path) => [path, zerosLike(realAt(request.inputs, path))]));
      await difference.forEachElement((path, element, slopes, weight) => {
        const gradient = gradients[path] as RealArray;
        let sum = 0;
        for (const [output, slope] of Object.entries(slopes)) {
          sum += dot(cotangentAt(request.vector, output, slope), slope.values);
        }
        gradient.values[element] = (gradient.values[element] as number) + weight * sum;
      });
      return Object.fromEntries(request.wrt.map((path) => [path, fromReal(gradients[path] as RealArray)]));
    },
  };
}

function cotangentAt(vector: HostArrays, output: string, slope: RealArray): Float64Array {
  const cotangent = vector[output];
  const values = cotangent === undefined ? undefined : toReal(cotangent, output).values;
  if (values?.length === slope.values.length) return values;
  throw new TesseractError(
    "INVALID_ARGUMENT",
    `The cotangent of "${output}" has the shape [${cotangent?.shape.join(", ")}], and the output [${slope.shape.join(", ")}]`,
  );
}

type Slopes = Readonly<Record<string, RealArray>>;

/** One request's differences. */
class Difference {
  private base: Promise<Tree> | undefined;

  constructor(
    private readonly options: FiniteDifferencesOptions,
    private readonly request: DerivativeRequest,
    private readonly endpoints: Endpoints,
    private readonly turns: Turns,
  ) {}

  /**
   * Calls `add` with how fast the outputs change with each element; what comes several times for an element adds up.
   */
  async forEachElement(add: (path: string, element: number, slopes: Slopes, weight: number) => void): Promise<void> {
    const { inputs, wrt } = this.request;
    const total = wrt.reduce((sum, path) => sum + realAt(inputs, path).values.length, 0);
    const samples = this.options.samples ?? Math.max(10, Math.ceil(Math.sqrt(total)));
    // With as many directions as elements, one element at a time is exact for the same price.
    if (this.options.method === "random" && samples < total) return this.randomly(samples, add);
    for (const path of wrt) {
      const { values } = realAt(inputs, path);
      for (let element = 0; element < values.length; element++) {
        const step = this.stepAt(path, values[element] as number);
        add(path, element, await this.slopes({ [path]: (index) => (index === element ? step : 0) }, 1), 1 / step);
      }
    }
  }

  private async randomly(
    samples: number,
    add: (path: string, element: number, slopes: Slopes, weight: number) => void,
  ): Promise<void> {
    const { inputs, wrt } = this.request;
    const sign = randomSigns(this.options.seed);
    for (let sample = 0; sample < samples; sample++) {
      const steps: Record<string, Float64Array> = {};
      for (const path of wrt) {
        const { values } = realAt(inputs, path);
        // One length for all elements of an input, so that none dominates.
        const length = this.stepAt(path, norm(values));
        steps[path] = Float64Array.from(values, () => sign() * length);
      }
      const moves = Object.fromEntries(wrt.map((path) => [path, (index: number) => steps[path]?.[index] ?? 0]));
      const slopes = await this.slopes(moves, 1);
      for (const path of wrt) {
        steps[path]?.forEach((step, element) => {
          add(path, element, slopes, 1 / (step * samples));
        });
      }
    }
  }

  /** How the outputs change along the tangents: the step is along the whole direction. */
  async along(tangents: HostArrays): Promise<HostArrays> {
    const { inputs, wrt } = this.request;
    const directions = Object.fromEntries(
      wrt.map((path) => [path, toReal(tangents[path] as HostArrays[string], path).values]),
    );
    // The longest step that keeps within each input's own.
    const scale = wrt.reduce((smallest, path) => {
      const length = norm(directions[path] as Float64Array);
      return length === 0
        ? smallest
        : Math.min(smallest, this.stepAt(path, norm(realAt(inputs, path).values)) / length);
    }, Number.POSITIVE_INFINITY);
    const factor = scale === Number.POSITIVE_INFINITY ? 0 : scale;
    const moves = Object.fromEntries(
      wrt.map((path) => [path, (index: number) => factor * ((directions[path] as Float64Array)[index] as number)]),
    );
    const slopes = await this.slopes(moves, factor === 0 ? 1 : 1 / factor);
    return Object.fromEntries(Object.entries(slopes).map(([path, slope]) => [path, fromReal(slope)]));
  }

  /** The difference of the outputs for a move of the inputs, times `factor`. */
  private async slopes(moves: Readonly<Record<string, (index: number) => number>>, factor: number): Promise<Slopes> {
    const forward = this.options.method === "forward";
    const ahead = await this.applyAt(moves, 1);
    const behind = forward ? await this.unmoved() : await this.applyAt(moves, -1);
    const length = forward ? 1 : 2;
    return Object.fromEntries(
      this.request.of.map((path): [string, RealArray] => {
        const [after, before] = [realAt(ahead, path), realAt(behind, path)];
        if (after.values.length !== before.values.length) {
          throw new TesseractError(
            "INVALID_ARGUMENT",
            `The shape of "${path}" changes with the inputs, so it has no finite differences`,
          );
        }
        const values = after.values.map(
          (value, index) => ((value - (before.values[index] as number)) / length) * factor,
        );
        return [path, { ...after, values }];
      }),
    );
  }

  private unmoved(): Promise<Tree> {
    this.base ??= this.endpoints.apply(this.request.inputs);
    return this.base;
  }

  private async applyAt(moves: Readonly<Record<string, (index: number) => number>>, sign: 1 | -1): Promise<Tree> {
    await this.turns.next();
    const moved = Object.entries(moves).map(([path, move]) => {
      const array = realAt(this.request.inputs, path);
      return [path, fromReal({ ...array, values: array.values.map((value, index) => value + sign * move(index)) })];
    });
    return this.endpoints.apply(withValuesAt(this.request.inputs, Object.fromEntries(moved)));
  }

  private stepAt(path: string, value: number): number {
    const { step, method } = this.options;
    const given = typeof step === "number" ? step : step?.[path];
    if (given !== undefined) return given;
    if (step !== undefined) {
      throw new TesseractError("INVALID_ARGUMENT", `finiteDifferences has no step for "${path}"`, {
        hint: "Give one for each input that derivatives are taken with respect to, or a number for all.",
      });
    }
    const { dtype } = realAt(this.request.inputs, path);
    const power = method === "forward" ? 1 / 2 : 1 / 3;
    // A power of two, so that x + h and x - h are off by h and nothing else where x is of its size.
    return 2 ** Math.round(Math.log2(Math.max(1, Math.abs(value)) * (precision[dtype] ?? 2 ** -52) ** power));
  }

  /** Blocks for inputs without elements too. */
  async complete(rows: Readonly<Record<string, Readonly<Record<string, RealArray>>>>): Promise<Jacobian> {
    const { inputs, wrt, of } = this.request;
    const result: Record<string, HostArrays> = {};
    for (const output of of) {
      const row: Record<string, HostArrays[string]> = {};
      for (const path of wrt) {
        const block =
          rows[output]?.[path] ?? zerosLike(realAt(await this.unmoved(), output), realAt(inputs, path).shape);
        row[path] = fromReal(block);
      }
      result[output] = row;
    }
    return result;
  }
}

function checkOptions({ method, step, samples }: FiniteDifferencesOptions): void {
  const steps = typeof step === "object" ? Object.values(step) : step === undefined ? [] : [step];
  const problem =
    method !== undefined && !["central", "forward", "random"].includes(method)
      ? `the method ${JSON.stringify(method)}`
      : steps.some((size) => !(size > 0))
        ? "a step that isn't positive"
        : samples !== undefined && !(Number.isInteger(samples) && samples > 0)
          ? `${samples} samples`
          : undefined;
  if (problem !== undefined) throw new TesseractError("INVALID_ARGUMENT", `finiteDifferences was given ${problem}`);
}
