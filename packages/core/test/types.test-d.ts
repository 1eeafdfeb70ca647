/** What the types promise. `tsc -p packages/core` checks it; nothing of it runs. */
import { describe, expectTypeOf, test } from "vitest";
import {
  type AbstractArray,
  type ArraysByPath,
  type DType,
  type ErrorCode,
  type FromUrlOptions,
  fromUrl,
  type HostArray,
  type HostTransport,
  hostArray,
  type NestedList,
  Tesseract,
  TesseractError,
  type Transport,
  toNestedList,
  type ValidationIssue,
} from "../src/index.js";

declare const transport: HostTransport;
declare const array: HostArray;
const options: FromUrlOptions = { transports: [transport] };

interface Heat {
  inputs: { source: Float64Array; steps: number; scheme?: "explicit" | "implicit" };
  outputs: { temperature: HostArray<"float64">; history: HostArray<"float32">[] };
}

describe("a Tesseract without types", () => {
  test("takes any tree, and gives arrays by name", async () => {
    await using heat = await fromUrl("http://localhost:8000", options);
    expectTypeOf(heat).toEqualTypeOf<Tesseract>();
    const outputs = await heat.apply({
      source: new Float64Array(100),
      steps: 50,
      nested: { list: [[1, 2], "x", null] },
    });
    expectTypeOf(outputs).toEqualTypeOf<Record<string, HostArray>>();
    // With noUncheckedIndexedAccess, as here; types.user.ts is compiled without.
    const { temperature } = outputs;
    expectTypeOf(temperature).toEqualTypeOf<HostArray | undefined>();
  });

  test("gives derivatives by path", async () => {
    const tess = await fromUrl(new URL("http://localhost:8000"), options);
    expectTypeOf(await tess.jacobian({}, ["x"], ["y"])).toEqualTypeOf<ArraysByPath<ArraysByPath<HostArray>>>();
    expectTypeOf(await tess.vectorJacobianProduct({}, ["x"], ["y"], {})).toEqualTypeOf<ArraysByPath<HostArray>>();
    expectTypeOf(await tess.jacobianVectorProduct({}, ["x"], ["y"], {})).toEqualTypeOf<ArraysByPath<HostArray>>();
    expectTypeOf(await tess.abstractEval({})).toEqualTypeOf<Record<string, AbstractArray>>();
    expectTypeOf(await tess.health()).toEqualTypeOf<{ readonly status: string }>();
  });
});

describe("a Tesseract with types", () => {
  test("takes its inputs, and gives its outputs", async () => {
    const heat = await fromUrl<Heat>("http://localhost:8000", options);
    const { temperature, history } = await heat.apply({ source: new Float64Array(3), steps: 1 });
    expectTypeOf(temperature.data).toEqualTypeOf<Float64Array>();
    expectTypeOf(history[0]?.data).toEqualTypeOf<Float32Array | undefined>();
    expectTypeOf(heat.withEncoding({ compression: "lz4" })).toEqualTypeOf<Tesseract<Heat>>();
  });

  test("takes no others", async () => {
    const heat = await fromUrl<Heat>("http://localhost:8000", options);
    // @ts-expect-error: `steps` is missing
    await heat.apply({ source: new Float64Array(3) });
    // @ts-expect-error: `steps` is a number
    await heat.apply({ source: new Float64Array(3), steps: "1" });
    // @ts-expect-error: there is no input `step`
    await heat.apply({ source: new Float64Array(3), steps: 1, step: 1 });
    // @ts-expect-error: there is no such scheme
    await heat.apply({ source: new Float64Array(3), steps: 1, scheme: "magic" });
    // @ts-expect-error: there is no output `pressure`
    (await heat.apply({ source: new Float64Array(3), steps: 1 })).pressure;
  });
});

describe("options", () => {
  test("are checked", async () => {
    // @ts-expect-error: transports are not optional
    await fromUrl("http://localhost:8000");
    // @ts-expect-error: transports are not optional
    await fromUrl("http://localhost:8000", { timeout: 5 });
    // @ts-expect-error: a transport has more than a name
    await fromUrl("http://localhost:8000", { transports: [{ name: "base64" }] });
    // @ts-expect-error: there is no option `timeoutMs`
    await fromUrl("http://localhost:8000", { ...options, timeoutMs: 5 });
    // @ts-expect-error: a timeout is a number
    await fromUrl("http://localhost:8000", { ...options, timeout: "5s" });
    // @ts-expect-error: there is no such compression
    await fromUrl("http://localhost:8000", { ...options, compression: "zstd" });
    // @ts-expect-error: a header's value is a text
    await fromUrl("http://localhost:8000", { ...options, headers: { "x-count": 5 } });
  });

  test("of calls and views are checked", async () => {
    const tess = await fromUrl("http://localhost:8000", options);
    await tess.apply({}, { signal: AbortSignal.timeout(5), timeout: 5, runId: "r" });
    await tess.apply({}, { signal: undefined, timeout: undefined, runId: undefined });
    // @ts-expect-error: a run's name is a text
    await tess.apply({}, { runId: 5 });
    // @ts-expect-error: only the endpoints that compute have runs
    await tess.health({ runId: "r" });
    // @ts-expect-error: there is no encoding `encoding`
    tess.withEncoding({ encoding: "json" });
    // @ts-expect-error: there is no such compression
    tess.withEncoding({ compression: "gzip" });
    // @ts-expect-error: a test is of an endpoint that computes
    await tess.test({ endpoint: "health", payload: { inputs: {} } });
    // @ts-expect-error: names are those of TypeScript, not those on the wire
    await tess.test({ endpoint: "apply", payload: { inputs: {} }, expected_outputs: {} });
  });
});

describe("an array", () => {
  test("has the data that its dtype says", () => {
    if (array.dtype === "float64") expectTypeOf(array.data).toEqualTypeOf<Float64Array>();
    if (array.dtype === "int64") expectTypeOf(array.data).toEqualTypeOf<BigInt64Array>();
    if (array.dtype === "float16") expectTypeOf(array.data).toEqualTypeOf<Uint16Array>();
    if (array.dtype === "bool" || array.dtype === "uint8") expectTypeOf(array.data).toEqualTypeOf<Uint8Array>();
    if (array.dtype === "complex128") expectTypeOf(array.data).toEqualTypeOf<Float64Array>();
    expectTypeOf(array.shape).toEqualTypeOf<readonly number[]>();
    // @ts-expect-error: there is no such dtype
    array.dtype === "bfloat16";
    // @ts-expect-error: an array isn't changed in place
    array.shape = [];
  });

  test("of one dtype is one of any", () => {
    expectTypeOf<HostArray<"int8">>().toExtend<HostArray>();
    expectTypeOf<HostArray>().not.toExtend<HostArray<"int8">>();
    expectTypeOf(hostArray([1], { dtype: "int8" })).toEqualTypeOf<HostArray<"int8">>();
    expectTypeOf(hostArray([[1n], [2n]])).toEqualTypeOf<HostArray>();
    expectTypeOf(toNestedList(array)).toEqualTypeOf<NestedList>();
    // @ts-expect-error: there is no such dtype
    hostArray([1], { dtype: "bfloat16" });
    // @ts-expect-error: texts aren't numbers
    hostArray(["1"]);
  });
});

describe("an error", () => {
  test("has one of these codes", () => {
    const codes = {
      INVALID_URL: true,
      INVALID_ARGUMENT: true,
      UNSUPPORTED_DTYPE: true,
      INVALID_ARRAY: true,
      INVALID_TREE: true,
      CONNECTION_FAILED: true,
      CONNECTION_LOST: true,
      TIMEOUT: true,
      ABORTED: true,
      CLOSED: true,
      ENDPOINT_NOT_FOUND: true,
      VALIDATION_FAILED: true,
      ENCODING_UNAVAILABLE: true,
      RUNTIME_TOO_OLD: true,
      SERVER_ERROR: true,
      MALFORMED_RESPONSE: true,
      RESPONSE_TOO_LARGE: true,
      DECODE_FAILED: true,
      PATH_ESCAPE: true,
      FILE_ERROR: true,
      TRANSPORT_MISSING: true,
      TRANSPORT_UNUSABLE: true,
      HOST_COPY_FORBIDDEN: true,
      CUDA_UNAVAILABLE: true,
      CUDA_ERROR: true,
      OUT_OF_DEVICE_MEMORY: true,
      DISPOSED: true,
      ENDPOINT_FAILED: true,
      INVALID_OUTPUTS: true,
      INPUT_CHANGED: true,
      LOAD_FAILED: true,
      REGRESSION_FAILED: true,
      REGRESSION_ERROR: true,
      NOT_DIFFERENTIABLE: true,
      SECOND_DERIVATIVE: true,
      VMAP_METHOD_MISSING: true,
      VALUE_UNKNOWN: true,
      IMPURE_FUNCTION: true,
      ARRAY_CONSUMED: true,
      AWAIT_MISSING: true,
      START_FAILED: true,
      START_TIMED_OUT: true,
      PORT_TAKEN: true,
      PROCESS_ENDED: true,
      ENVIRONMENT_FAILED: true,
      ENGINE_UNAVAILABLE: true,
      ENGINE_FAILED: true,
      IMAGE_NOT_FOUND: true,
      IMAGE_INVALID: true,
      BUILD_FAILED: true,
      UNSUPPORTED_PLATFORM: true,
    };
    expectTypeOf<keyof typeof codes>().toEqualTypeOf<ErrorCode>();
  });

  test("is known by its class, and has its details", () => {
    const error: unknown = undefined;
    if (error instanceof TesseractError) {
      expectTypeOf(error.code).toEqualTypeOf<ErrorCode>();
      expectTypeOf(error.issues).toEqualTypeOf<readonly ValidationIssue[]>();
      expectTypeOf(error.hint).toEqualTypeOf<string | undefined>();
      // @ts-expect-error: there is no such code
      error.code === "NETWORK";
    }
  });
});

describe("a transport", () => {
  test("is told by what it carries", () => {
    const other: Transport = transport;
    if (other.carries === "host") expectTypeOf(other.sends).toEqualTypeOf<boolean | undefined>();
    // @ts-expect-error: a transport for GPUs has no aliases
    else other.aliases;
  });

  test("gives an encoded array for each", () => {
    expectTypeOf<HostTransport["encode"]>().returns.resolves.toHaveProperty("arrays");
    expectTypeOf<HostTransport["decode"]>().returns.resolves.toEqualTypeOf<readonly HostArray[]>();
    expectTypeOf<Parameters<HostTransport["decode"]>[0][number]["dtype"]>().toEqualTypeOf<DType>();
    // A Tesseract is made of anything that does what a backend does.
    expectTypeOf(Tesseract).constructorParameters.toHaveProperty(0);
  });
});
