/** The suite that every array adapter must pass. */
import {
  type AdaptedArray,
  type ArrayAdapter,
  type DType,
  elementCount,
  entriesPerElement,
  type HostArray,
  hostArray,
  itemSize,
  makeHostArray,
  TesseractError,
  viewAs,
} from "@tesseract-ts/core";
import { describe, differenceOf } from "../arrays.js";
import { ConformanceError, demand, type Rule } from "../failure.js";
import type { ConformanceCase, ConformanceSuite } from "../suite.js";
import { rules } from "./rules.js";

export interface AdapterConformanceOptions {
  /** For the names of tests. */
  readonly name: string;
  readonly adapter: ArrayAdapter;
  /** Those that the library and Tesseracts have in common. */
  readonly dtypes: readonly DType[];
  /** An array of the library with these elements; the way back of the adapter, if it has one. */
  make(array: HostArray): object;
  /** Where the elements of the library's array are, if the host sees them. */
  memoryOf?(array: never): ArrayBufferLike | undefined;
  /** Whether `read()` gives the library's own memory. Not checked if left out. */
  sharesRead?(dtype: DType): boolean;
  /** Whether `make()` keeps the host array's memory. Not checked if left out. */
  sharesMade?(dtype: DType): boolean;
  /** Whether the library has arrays without dimensions; true if left out. */
  readonly scalars?: boolean;
  /** Arrays of the library whose elements no Tesseract can take, by what they are. */
  unsupported?(): Readonly<Record<string, object>>;
  /** Arrays of the library that can't be read, by what they are: disposed of, or with holes. */
  unreadable?(): Readonly<Record<string, object>>;
  /** Ends an array that a case has made. */
  dispose?(array: never): void;
}

/**
 * The suite that every array adapter must pass, with the real library.
 *
 * @example
 * describeConformance(
 *   adapterConformance({ name: "ndarray", adapter, dtypes: ["float64"], make: (array) => toNdarray(array, ndarray) }),
 *   { describe, test },
 * );
 */
export function adapterConformance(options: AdapterConformanceOptions): ConformanceSuite {
  const { adapter, dtypes, sharesRead, sharesMade, unsupported, unreadable } = options;
  const context = new Context(options);
  const cases: ConformanceCase[] = [
    {
      id: "recognize",
      name: "it recognizes its library's arrays, and says their dtype and shape",
      run: () => context.withEach((array, expected) => void context.adapt(array, expected)),
    },
    ...dtypes.map((dtype) => ({
      id: `read-${dtype}`,
      name: `it reads ${dtype} in every shape`,
      run: () => context.withEach((array, expected) => context.expectRead(array, expected, rules.read), [dtype]),
    })),
    {
      id: "stays",
      name: "the library's array can be read again, and twice at the same time",
      run: () =>
        context.withEach(async (array, expected) => {
          await Promise.all([1, 2].map(() => context.expectRead(array, expected, rules.stays)));
          await context.expectRead(array, expected, rules.stays);
        }),
    },
    {
      id: "ignore",
      name: "it leaves everything else alone",
      run: async () => {
        for (const [what, value] of Object.entries(strangers())) {
          demand(adapter.adapt(value) === undefined, `It takes ${what} for an array of its library`, rules.ignore);
        }
        const looked: string[] = [];
        const note = (name: string | symbol): undefined => void looked.push(String(name));
        const trap = new Proxy({}, { get: (_, name) => note(name), has: (_, name) => note(name) !== undefined });
        demand(
          adapter.adapt(trap) === undefined && looked.length === 0,
          `It looks at "${looked[0]}" of a plain object`,
          rules.ignore,
        );
      },
    },
  ];
  if (sharesRead !== undefined)
    cases.push(
      context.sharing(
        "shares-read",
        "read() shares memory exactly where it is said to",
        sharesRead,
        async (array, expected) => (await context.read(array, expected)).data.buffer,
      ),
    );
  if (sharesMade !== undefined)
    cases.push(
      context.sharing(
        "shares-made",
        "the way back shares memory exactly where it is said to",
        sharesMade,
        (_, expected) => expected.data.buffer,
      ),
    );
  if (unsupported !== undefined) cases.push(context.refusing("unsupported", unsupported, "UNSUPPORTED_DTYPE"));
  if (unreadable !== undefined) cases.push(context.refusing("unreadable", unreadable, "INVALID_ARRAY"));
  return { name: `the adapter for ${options.name}`, cases };
}

class Context {
  constructor(private readonly options: AdapterConformanceOptions) {}

  /** Makes an array of each dtype and shape. */
  async withEach(
    body: (array: object, expected: HostArray) => void | Promise<void>,
    dtypes: readonly DType[] = this.options.dtypes,
  ): Promise<void> {
    const { scalars = true, make, dispose } = this.options;
    const shapes = [[1], [7], [2, 3], [2, 3, 4], [1, 1, 5], [0], [0, 3], ...(scalars ? [[]] : [])];
    for (const dtype of dtypes) {
      for (const shape of shapes) {
        const expected = plainArray(dtype, shape);
        let array: object;
        try {
          array = make(expected);
        } catch (error) {
          throw new ConformanceError(`${describe(expected)} can't be made: ${String(error)}`, rules.back, error);
        }
        await body(array, expected);
        dispose?.(array as never);
      }
    }
  }

  adapt(array: object, expected: HostArray): AdaptedArray {
    const adapted = this.options.adapter.adapt(array);
    demand(adapted !== undefined, `It doesn't recognize ${describe(expected)}`, rules.recognize);
    const same = adapted.dtype === expected.dtype && String(adapted.shape) === String(expected.shape);
    demand(same, `It takes ${describe(expected)} for ${describe(adapted)}`, rules.recognize);
    return adapted;
  }

  async read(array: object, expected: HostArray): Promise<HostArray> {
    return this.adapt(array, expected).read();
  }

  async expectRead(array: object, expected: HostArray, rule: Rule): Promise<void> {
    let found: unknown;
    try {
      found = await this.read(array, expected);
    } catch (error) {
      if (error instanceof ConformanceError) throw error;
      throw new ConformanceError(`${describe(expected)} can't be read: ${String(error)}`, rule, error);
    }
    const difference = differenceOf(found, expected);
    demand(difference === undefined, `read() gives something else: ${difference}`, rule);
  }

  sharing(
    id: string,
    name: string,
    shares: (dtype: DType) => boolean,
    memoryOf: (array: object, expected: HostArray) => ArrayBufferLike | Promise<ArrayBufferLike>,
  ): ConformanceCase {
    return {
      id,
      name,
      run: () =>
        this.withEach(async (array, expected) => {
          if (expected.data.length === 0) return;
          const theirs = this.options.memoryOf?.(array as never);
          const shared = theirs !== undefined && theirs === (await memoryOf(array, expected));
          const said = shares(expected.dtype);
          demand(
            shared === said,
            `${describe(expected)} is ${shared ? "shared" : "copied"}, against what is said`,
            rules.shares,
          );
        }),
    };
  }

  refusing(id: string, made: () => Readonly<Record<string, object>>, code: string): ConformanceCase {
    return {
      id,
      name: `what can't be sent is refused with ${code}`,
      run: async () => {
        for (const [what, array] of Object.entries(made())) {
          const outcome: unknown = await Promise.resolve()
            .then(() => this.options.adapter.adapt(array)?.read())
            .catch((error: unknown) => error);
          const refused = outcome instanceof TesseractError && outcome.code === code;
          demand(refused, `${what} gives ${String(outcome)} instead of a TesseractError ${code}`, rules.refuse);
        }
      },
    };
  }
}

/** Whole numbers that every dtype has. */
function plainArray(dtype: DType, shape: readonly number[]): HostArray {
  const count = elementCount(shape);
  const data = viewAs(dtype, new ArrayBuffer(count * itemSize(dtype)));
  for (let index = 0; index < count * entriesPerElement(dtype); index++) {
    const value = dtype === "bool" ? index % 2 : index % 100;
    // Of float16 the bits of 1, 1.0009765625 and so on.
    data[index] = (dtype === "float16" ? 0x3c00 + value : dtype.endsWith("int64") ? BigInt(value) : value) as never;
  }
  return makeHostArray(dtype, shape, data);
}

function strangers(): Readonly<Record<string, object>> {
  const members = {
    shape: [2],
    dims: [2],
    stride: [1],
    dtype: "float32",
    type: "float32",
    data: new Float32Array(2),
    length: 2,
  };
  return {
    "a plain object with an array's members": members,
    "an object without a prototype": Object.assign(Object.create(null) as object, members),
    "a host array": hostArray(new Float32Array(2)),
    "a typed array": new Float64Array(2),
    "a list": [1, 2],
    "a date": new Date(0),
    "a map": new Map([["shape", [2]]]),
    "a promise": Promise.resolve(1),
    "a function": () => {},
    "an object of a class with an array's members": new (class {
      shape = [2];
      dtype = "float32";
      data = new Float32Array(2);
    })(),
  };
}
