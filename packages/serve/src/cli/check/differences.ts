/** Compares a Tesseract's derivatives with finite differences of `apply`. */
import {
  elementCount,
  type HostArray,
  hostArray,
  isHostArray,
  type Tesseract,
  TesseractError,
} from "@tesseract-ts/core";
import type { EndpointContext } from "@tesseract-ts/inprocess";
import { realValues } from "../arrays/summary.js";
import { valueAt } from "../schema/paths.js";

export type GradientEndpoint = "jacobian" | "jacobianVectorProduct" | "vectorJacobianProduct";

export const gradientEndpoints: readonly GradientEndpoint[] = [
  "jacobian",
  "jacobianVectorProduct",
  "vectorJacobianProduct",
];

type Tree = { readonly [member: string]: unknown };

export interface CheckRequest {
  readonly inputs: Tree;
  readonly wrt: readonly string[];
  readonly of: readonly string[];
  /** The step of the differences; each element's own if left out. */
  readonly step: number | undefined;
  /** Elements of each input, and of each output, that are looked at; spread evenly. */
  readonly most: number;
  /** How far an entry may be off, of its own size; see {@link Comparison.allowed}. */
  readonly relative: number;
  /** And besides; what finite differences are off by rounding, if left out. */
  readonly absolute: number | undefined;
}

/** One entry of a derivative, d output[row] / d input[column]. */
export interface Entry {
  readonly of: string;
  readonly wrt: string;
  /** Index into the output, and into the input. */
  readonly row: readonly number[];
  readonly column: readonly number[];
  readonly value: number;
  readonly expected: number;
  /** How far it is off, in units of what it may be. */
  readonly error: number;
}

export interface EndpointCheck {
  readonly endpoint: GradientEndpoint;
  readonly compared: number;
  /** Entries that are off by more than they may be. */
  readonly wrong: number;
  /** The worst first; the best of the right ones are left out. */
  readonly worst: readonly Entry[];
  /** Why it couldn't be compared. */
  readonly failure?: TesseractError;
}

/** Entries that are kept. */
const MOST_KEPT = 100;

export interface CheckEvents {
  /** Told how many of all inputs' elements have been moved. */
  onMoved(done: number, total: number): void;
  onEndpoint(endpoint: GradientEndpoint): void;
}

/** The derivatives of all outputs with respect to one element of an input: by output path, in C order. */
interface Column {
  readonly wrt: string;
  readonly element: number;
  readonly expected: Readonly<Record<string, Float64Array>>;
}

/** @throws TesseractError as `apply` does; what a gradient endpoint throws is part of its result */
export async function checkDerivatives(
  tesseract: Tesseract,
  endpoints: readonly GradientEndpoint[],
  request: CheckRequest,
  events: CheckEvents,
): Promise<readonly EndpointCheck[]> {
  const columns = await differences(tesseract, request, events);
  const outputs = await outputsOf(tesseract, request);
  const checks: EndpointCheck[] = [];
  for (const endpoint of endpoints) {
    events.onEndpoint(endpoint);
    const comparison = new Comparison(endpoint, request, columns, outputs);
    try {
      await comparison.run(tesseract);
      checks.push(comparison.result());
    } catch (error) {
      if (!(error instanceof TesseractError) || ["ABORTED", "CLOSED", "CONNECTION_FAILED"].includes(error.code))
        throw error;
      checks.push({ ...comparison.result(), failure: error });
    }
  }
  return checks;
}

async function differences(
  tesseract: Tesseract,
  request: CheckRequest,
  events: CheckEvents,
): Promise<readonly Column[]> {
  const { inputs, wrt, of, step, most } = request;
  // Loaded where it is needed, since all commands would wait for it.
  const { derivatives } = await import("@tesseract-ts/inprocess");
  const rule = derivatives.finiteDifferences({ method: "central", ...(step === undefined ? {} : { step }) });
  const apply = async (tree: Tree): Promise<Tree> => (await tesseract.apply(tree)) as Tree;
  const unused = (): never => {
    throw new TesseractError("INVALID_ARGUMENT", "Finite differences call apply alone");
  };
  const places = wrt.flatMap((path) => {
    const { length } = realValues(arrayAt(inputs, path));
    return spread(length, most).map((element) => ({ path, element, length }));
  });
  const columns: Column[] = [];
  for (const [done, { path, element, length }] of places.entries()) {
    events.onMoved(done, places.length);
    const { shape, dtype } = arrayAt(inputs, path);
    const direction = unit(dtype, shape, length, element);
    const slopes = await rule.jvp(
      { inputs, wrt: [path], of, vector: { [path]: direction } },
      { apply, jacobian: unused, jvp: unused, vjp: unused },
      context(),
    );
    const expected = Object.fromEntries(Object.entries(slopes).map(([output, slope]) => [output, realValues(slope)]));
    columns.push({ wrt: path, element, expected });
  }
  return columns;
}

/** Nothing is logged, and the calls themselves end when the user gives up. */
const context = (): EndpointContext => ({
  signal: new AbortController().signal,
  runId: "check",
  outputDirectory: async () => ".",
  log: () => {},
});

interface Output {
  readonly shape: readonly number[];
  readonly dtype: HostArray["dtype"];
  /** The absolute value of its largest element. */
  readonly largest: number;
}

async function outputsOf(
  tesseract: Tesseract,
  { inputs, of }: CheckRequest,
): Promise<Readonly<Record<string, Output>>> {
  const outputs = await tesseract.apply(inputs);
  return Object.fromEntries(
    of.map((path): [string, Output] => {
      const array = arrayAt(outputs as Tree, path);
      return [path, { shape: array.shape, dtype: array.dtype, largest: largestOf(realValues(array)) }];
    }),
  );
}

function largestOf(values: Float64Array): number {
  let largest = 0;
  // NaN is larger than nothing.
  for (const value of values) if (Math.abs(value) > largest) largest = Math.abs(value);
  return largest;
}

/** The distance from 1 to the next number. */
const precision: Partial<Record<HostArray["dtype"], number>> = {
  float16: 2 ** -10,
  float32: 2 ** -23,
  float64: 2 ** -52,
};

class Comparison {
  private compared = 0;
  private wrong = 0;
  private worst: Entry[] = [];
  /** The largest expected entry of each block, by output and input. */
  private readonly sizes = new Map<string, number>();

  constructor(
    private readonly endpoint: GradientEndpoint,
    private readonly request: CheckRequest,
    private readonly columns: readonly Column[],
    private readonly outputs: Readonly<Record<string, Output>>,
  ) {
    for (const { wrt, expected } of columns) {
      for (const [of, values] of Object.entries(expected)) {
        const size = largestOf(values);
        this.sizes.set(`${of} ${wrt}`, Math.max(size, this.sizes.get(`${of} ${wrt}`) ?? 0));
      }
    }
  }

  run(tesseract: Tesseract): Promise<void> {
    switch (this.endpoint) {
      case "jacobian":
        return this.byBlocks(tesseract);
      case "jacobianVectorProduct":
        return this.byColumns(tesseract);
      case "vectorJacobianProduct":
        return this.byRows(tesseract);
    }
  }

  result(): EndpointCheck {
    const { endpoint, compared, wrong } = this;
    return { endpoint, compared, wrong, worst: this.worst.sort(byError).slice(0, MOST_KEPT) };
  }

  private async byBlocks(tesseract: Tesseract): Promise<void> {
    const { inputs, wrt, of } = this.request;
    const jacobian = await tesseract.jacobian(inputs, wrt, of);
    for (const column of this.columns) {
      const { length } = realValues(arrayAt(inputs, column.wrt));
      for (const output of of) {
        const values = this.valuesOf(jacobian[output]?.[column.wrt], `${output} by ${column.wrt}`);
        this.compareColumn(column, output, (row) => values[row * length + column.element]);
      }
    }
  }

  private async byColumns(tesseract: Tesseract): Promise<void> {
    const { inputs, of } = this.request;
    for (const column of this.columns) {
      const { shape, dtype } = arrayAt(inputs, column.wrt);
      const tangent = unit(dtype, shape, elementCount(shape), column.element);
      const slopes = await tesseract.jacobianVectorProduct(inputs, [column.wrt], of, { [column.wrt]: tangent });
      for (const output of of) {
        const values = this.valuesOf(slopes[output], output);
        this.compareColumn(column, output, (row) => values[row]);
      }
    }
  }

  private async byRows(tesseract: Tesseract): Promise<void> {
    const { inputs, wrt, of, most } = this.request;
    for (const output of of) {
      const { shape = [], dtype = "float64" } = this.outputs[output] ?? {};
      for (const row of spread(elementCount(shape), most)) {
        const cotangent = unit(dtype, shape, elementCount(shape), row);
        const gradients = await tesseract.vectorJacobianProduct(inputs, wrt, [output], { [output]: cotangent });
        for (const column of this.columns) {
          const values = this.valuesOf(gradients[column.wrt], column.wrt);
          this.compare(column, output, row, values[column.element]);
        }
      }
    }
  }

  private valuesOf(array: unknown, what: string): Float64Array {
    if (isHostArray(array)) return realValues(array);
    throw new TesseractError("INVALID_OUTPUTS", `${this.endpoint} gave no array for ${what}`);
  }

  private compareColumn(column: Column, output: string, value: (row: number) => number | undefined): void {
    const { length } = column.expected[output] ?? [];
    for (const row of spread(length, this.request.most)) this.compare(column, output, row, value(row));
  }

  private compare({ wrt, element, expected }: Column, of: string, row: number, value = Number.NaN): void {
    const wanted = expected[of]?.[row] ?? Number.NaN;
    const off = Math.abs(value - wanted);
    // NaN is right where the function has it too.
    const isEqual = off === 0 || (Number.isNaN(wanted) && Number.isNaN(value));
    const error = isEqual ? 0 : Number.isNaN(off) ? Number.POSITIVE_INFINITY : off / this.allowed(of, wrt, wanted);
    this.compared++;
    if (error > 1) this.wrong++;
    const column = indexOf(element, arrayAt(this.request.inputs, wrt).shape);
    this.worst.push({
      of,
      wrt,
      row: indexOf(row, this.outputs[of]?.shape ?? []),
      column,
      value,
      expected: wanted,
      error,
    });
    if (this.worst.length > 4 * MOST_KEPT) this.worst = this.worst.sort(byError).slice(0, MOST_KEPT);
  }

  /**
   * Central differences with a step of the cube root of the precision are off by its power of 2/3 of the function's values,
   * by rounding. Numbers of few digits leave the small entries of a block nothing to be compared by.
   */
  private allowed(of: string, wrt: string, expected: number): number {
    const { relative, absolute, inputs, step } = this.request;
    const { dtype = "float64", largest = 0 } = this.outputs[of] ?? {};
    const digits = Math.max(precision[dtype] ?? 0, precision[arrayAt(inputs, wrt).dtype] ?? 0);
    const rounding = MARGIN * largest * (step === undefined ? digits ** (2 / 3) : digits / step);
    const block = this.sizes.get(`${of} ${wrt}`) ?? 0;
    const size = Math.max(Math.abs(expected), digits > 1e-12 ? block : OF_LARGEST * block);
    return (absolute ?? rounding) + relative * size;
  }
}

/** Of a block's largest entry: what smaller ones may be off by comes with it. */
const OF_LARGEST = 1e-3;
/** Rounding is taken for this many times as large as it is thought to be. */
const MARGIN = 10;

const byError = (a: Entry, b: Entry): number => b.error - a.error;

/** `most` numbers below `length`, evenly spread; all if there are no more. */
export const spread = (length: number, most: number): readonly number[] =>
  length <= most
    ? Array.from({ length }, (_, index) => index)
    : Array.from({ length: most }, (_, index) => Math.floor(((index + 0.5) * length) / most));

/** Zeros, and a one. */
function unit(dtype: HostArray["dtype"], shape: readonly number[], length: number, element: number): HostArray {
  const values = new Array<number>(length).fill(0);
  values[element] = 1;
  return hostArray(values, { dtype, shape });
}

function indexOf(element: number, shape: readonly number[]): readonly number[] {
  const index: number[] = [];
  let rest = element;
  for (const size of [...shape].reverse()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return index;
}

function arrayAt(tree: Tree, path: string): HostArray {
  const found = valueAt(tree, path);
  if (isHostArray(found)) return found;
  throw new TesseractError("INVALID_ARGUMENT", `There is no array at "${path}"`);
}
