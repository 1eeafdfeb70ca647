// A Tesseract in this process that writes down what it is asked, for unit tests.

import {
  type Backend,
  type BackendCall,
  type DType,
  elementCount,
  type HostArray,
  hostArray,
  type RequestedEncoding,
  Tesseract,
} from "@tesseract-ts/core";

type Numbers = Readonly<Record<string, { readonly shape: readonly number[]; readonly data: readonly number[] }>>;

export interface FakeField {
  readonly dtype?: DType;
  readonly differentiable?: boolean;
  /** Undefined for any rank. */
  readonly rank?: number;
}

export interface FakeDefinition {
  readonly inputs: Readonly<Record<string, FakeField>>;
  readonly outputs: Readonly<Record<string, FakeField>>;
  /** The shape of each output, by those of the inputs. */
  readonly shapes: (inputs: Readonly<Record<string, readonly number[]>>) => Readonly<Record<string, readonly number[]>>;
  readonly apply: (inputs: Numbers) => Readonly<Record<string, readonly number[]>>;
  /** d output / d input, flattened, row after row. */
  readonly derivative?: (inputs: Numbers, output: string, input: string) => readonly number[];
  readonly without?: readonly string[];
  readonly statics?: Readonly<Record<string, unknown>>;
  readonly appliedStatics?: Readonly<Record<string, unknown>>;
  readonly delay?: number;
}

export interface Asked {
  readonly route: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly encoding: RequestedEncoding;
}

export interface Fake {
  readonly tesseract: Tesseract;
  readonly asked: Asked[];
  /** The endpoints that were asked, in order. */
  routes(): string[];
  /** How many calls were on their way at once, at most. */
  concurrent(): number;
}

type Payload = {
  readonly inputs: Record<string, unknown>;
  readonly [member: string]: unknown;
};

export function fakeTesseract(definition: FakeDefinition): Fake {
  const asked: Asked[] = [];
  let running = 0;
  let most = 0;
  const routes = ["apply", "jacobian", "jacobian_vector_product", "vector_jacobian_product", "abstract_eval", "health"];
  const schema = (fields: FakeDefinition["inputs"]) =>
    Object.fromEntries(
      Object.entries(fields).map(([name, { dtype = "float64" }]) => [
        name,
        { array_flags: [], properties: { dtype: { examples: [dtype] } } },
      ]),
    );
  const differentiable = (fields: FakeDefinition["inputs"]) =>
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, field]) => field.differentiable !== false)
        .map(([name, { dtype = "float64", rank }]) => [
          name,
          { dtype, ...(rank === undefined ? {} : { shape: new Array(rank).fill(null) }) },
        ]),
    );
  const backend: Backend = {
    openapiSchema: {
      info: { title: "fake" },
      paths: Object.fromEntries(
        routes.filter((route) => !definition.without?.includes(route)).map((route) => [`/${route}`, {}]),
      ),
      components: {
        schemas: {
          Apply_InputSchema: { properties: schema(definition.inputs) },
          ApplyInputSchema: { differentiable_arrays: differentiable(definition.inputs) },
          ApplyOutputSchema: { differentiable_arrays: differentiable(definition.outputs) },
        },
      },
    },
    serverCapabilities: undefined,
    defaultEncoding: {},
    checkEncoding: () => {},
    resolveGpuTransport: async () => "none",
    explainGpuTransport: async () => ({ requested: undefined, offered: undefined, resolved: "none", checks: [] }),
    close: async () => {},
    async call({ route, payload, encoding }: BackendCall) {
      asked.push({ route, payload: payload ?? {}, encoding });
      running += 1;
      most = Math.max(most, running);
      try {
        await new Promise((resolve) => setTimeout(resolve, definition.delay ?? 0));
        return answer(definition, route, payload as Payload);
      } finally {
        running -= 1;
      }
    },
  };
  return {
    tesseract: new Tesseract(backend),
    asked,
    routes: () => asked.map(({ route }) => route),
    concurrent: () => most,
  };
}

function answer(definition: FakeDefinition, route: string, payload: Payload): unknown {
  const inputs = Object.fromEntries(
    Object.entries(payload.inputs).map(([name, value]) => [
      name,
      ArrayBuffer.isView(value) ? hostArray(value as Float64Array) : value,
    ]),
  );
  const shapesIn = Object.fromEntries(
    Object.keys(definition.inputs)
      .filter((name) => inputs[name] !== undefined)
      .map((name) => [name, (inputs[name] as HostArray).shape]),
  );
  const shapes = definition.shapes(shapesIn);
  const dtypeOf = (name: string): DType => (definition.outputs[name] ?? definition.inputs[name])?.dtype ?? "float64";
  if (route === "abstract_eval") {
    const arrays = Object.entries(shapes).map(([name, shape]) => [name, { shape, dtype: dtypeOf(name) }]);
    return { ...Object.fromEntries(arrays), ...definition.statics };
  }
  const numbers: Numbers = Object.fromEntries(
    Object.keys(shapesIn).map((name) => {
      const { shape, data } = inputs[name] as HostArray;
      return [name, { shape, data: Array.from(data as ArrayLike<number | bigint>, Number) }];
    }),
  );
  const array = (name: string, data: readonly number[], shape: readonly number[]): HostArray => {
    const dtype = dtypeOf(name);
    const entries = dtype === "int64" ? data.map((value) => BigInt(value)) : [...data];
    return hostArray(entries.length === 0 ? new Float64Array(0) : entries, { dtype, shape });
  };
  const derivative = definition.derivative ?? (() => []);
  const list = (member: string): string[] => payload[member] as string[];
  const vector = (member: string): Record<string, HostArray> => payload[member] as Record<string, HostArray>;
  switch (route) {
    case "apply": {
      const outputs = definition.apply(numbers);
      const arrays = Object.entries(outputs).map(([name, data]) => [name, array(name, data, shapes[name] ?? [])]);
      return { ...Object.fromEntries(arrays), ...definition.statics, ...definition.appliedStatics };
    }
    case "jacobian":
      return Object.fromEntries(
        list("jac_outputs").map((output) => [
          output,
          Object.fromEntries(
            list("jac_inputs").map((input) => [
              input,
              array(output, derivative(numbers, output, input), [
                ...(shapes[output] ?? []),
                ...(shapesIn[input] ?? []),
              ]),
            ]),
          ),
        ]),
      );
    case "jacobian_vector_product":
      return Object.fromEntries(
        list("jvp_outputs").map((output) => {
          const rows = elementCount(shapes[output] ?? []);
          const sum = new Array(rows).fill(0);
          for (const input of list("jvp_inputs")) {
            const matrix = derivative(numbers, output, input);
            const tangent = Array.from(vector("tangent_vector")[input]?.data as Float64Array);
            for (let row = 0; row < rows; row++) {
              tangent.forEach((value, column) => {
                sum[row] += (matrix[row * tangent.length + column] ?? 0) * value;
              });
            }
          }
          return [output, array(output, sum, shapes[output] ?? [])];
        }),
      );
    case "vector_jacobian_product":
      return Object.fromEntries(
        list("vjp_inputs").map((input) => {
          const columns = elementCount(shapesIn[input] ?? []);
          const sum = new Array(columns).fill(0);
          for (const output of list("vjp_outputs")) {
            const matrix = derivative(numbers, output, input);
            const cotangent = Array.from(vector("cotangent_vector")[output]?.data as Float64Array);
            cotangent.forEach((value, row) => {
              for (let column = 0; column < columns; column++)
                sum[column] += value * (matrix[row * columns + column] ?? 0);
            });
          }
          return [input, array(input, sum, shapesIn[input] ?? [])];
        }),
      );
    default:
      throw new Error(`The fake has no ${route}`);
  }
}

const diagonal = (data: readonly number[], of: (value: number, index: number) => number): number[] =>
  data.flatMap((value, row) => data.map((_, column) => (row === column ? of(value, row) : 0)));

/** Sums along the last dimension. */
function rowsOf(data: readonly number[], shape: readonly number[]): number[] {
  const length = shape.at(-1) ?? 1;
  return Array.from({ length: data.length / length }, (_, row) =>
    data.slice(row * length, (row + 1) * length).reduce((sum, value) => sum + value, 0),
  );
}

/** y = w x², element by element; total = Σ w x along the last dimension. */
export const square = (more: Partial<FakeDefinition> = {}): Fake =>
  fakeTesseract({
    inputs: { x: { rank: 1 }, w: { rank: 1 } },
    outputs: { y: {}, total: {} },
    shapes: ({ x = [] }) => ({ y: x, total: x.slice(0, -1) }),
    apply: ({ x, w }) => {
      const data = x?.data ?? [];
      const weights = w?.data ?? data.map(() => 1);
      return {
        y: data.map((value, index) => (weights[index] ?? 1) * value * value),
        total: rowsOf(
          data.map((value, index) => (weights[index] ?? 1) * value),
          x?.shape ?? [],
        ),
      };
    },
    derivative: ({ x, w }, output, input) => {
      const data = x?.data ?? [];
      const weights = w?.data ?? data.map(() => 1);
      if (output === "total") return input === "x" ? weights : data;
      return diagonal(data, (value, index) => (input === "x" ? 2 * value * (weights[index] ?? 1) : value * value));
    },
    ...more,
  });
