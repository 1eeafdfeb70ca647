// Programs that call Tesseracts, against JAX with tesseract-jax on the same served Tesseracts: their values, and how often they
// ask.

import { numpy as np } from "@jax-js/jax";
import type { HostArray, Tesseract } from "@tesseract-ts/core";
import { grad, jit } from "@tesseract-ts/jax-bridge";
import { beforeAll, expect, test } from "vitest";
import { connect } from "../src/connect.js";
import { type RecordingProxy, startRecordingProxy } from "../src/recording-proxy.js";
import { describeWithRuntime, START_TIMEOUT, sharedRuntimes } from "../src/with-runtime.js";
import { goldenPrograms, goldenVersions, type Nested } from "./jax/golden.js";
import { programArrays, programFunctions, scalar, type Tesseracts, transformations } from "./jax/programs.js";

const { elementwise, elementwise32, vectors } = sharedRuntimes({
  elementwise: { fixture: "elementwise" },
  elementwise32: { fixture: "elementwise32" },
  vectors: { fixture: "vectors" },
});

const names = Object.keys(goldenPrograms);

test("the golden programs are those of tesseract-jax 0.5, and more than 60", () => {
  expect(goldenVersions["tesseract-jax"]).toMatch(/^0\.5\./);
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name) => goldenPrograms[name]?.error !== undefined)).toEqual([]);
});

describeWithRuntime("1.15", "a program gives what JAX gives, and asks no more than it does", () => {
  const proxies: RecordingProxy[] = [];

  beforeAll(async () => {
    for (const runtime of [elementwise(), elementwise32(), vectors()])
      proxies.push(await startRecordingProxy(runtime.url));
    return async () => {
      await Promise.all(proxies.map((proxy) => proxy[Symbol.asyncDispose]()));
    };
  }, START_TIMEOUT);

  /** Clients that know nothing yet. */
  async function freshTesseracts(): Promise<Tesseracts & AsyncDisposable> {
    const clients: Tesseract[] = await Promise.all(
      proxies.map(({ url }) => connect({ url, inputPath: "", outputPath: "" }, { outputFormat: "json+base64" })),
    );
    const [first, second, third] = clients as [Tesseract, Tesseract, Tesseract];
    return {
      elementwise: first,
      elementwise32: second,
      vectors: third,
      [Symbol.asyncDispose]: async () => {
        await Promise.all(clients.map((client) => client.close()));
      },
    };
  }

  /** How many exchanges each proxy has seen. */
  const seen = (): readonly number[] => proxies.map(({ exchanges }) => exchanges.length);

  /** The endpoints that were asked since then. */
  const requestsSince = (counts: readonly number[]): string[] =>
    proxies.flatMap(({ exchanges }, index) =>
      exchanges
        .slice(counts[index])
        .filter(({ method }) => method === "POST")
        .map(({ path }) => path.split("?")[0]?.slice(1) ?? ""),
    );

  for (const name of names) {
    test(name, { timeout: 20_000 }, async () => {
      const [transformation = "", functionName = ""] = name.split(": ");
      const golden = goldenPrograms[name];
      await using tesseracts = await freshTesseracts();
      const f = programFunctions(tesseracts)[functionName];
      const transform = transformations[transformation];
      const dtype = functionName === "float32" ? "float32" : "float64";
      const given = await programArrays(dtype);
      if (golden === undefined || f === undefined || transform === undefined) {
        throw new Error(`There is no program "${name}" in TypeScript`);
      }
      const program = transform(f);

      const before = seen();
      const value = await plain(await program(given));
      const first = requestsSince(before);
      expectClose(value, golden.value ?? null, dtype === "float32" ? 1e-6 : 1e-12, name);
      expect(first.length).toBeLessThanOrEqual(golden.requests.length);
      for (const endpoint of new Set(first)) {
        const count = (list: readonly string[]): number => list.filter((each) => each === endpoint).length;
        expect(count(first), endpoint).toBeLessThanOrEqual(
          endpoint === "jacobian_vector_product" ? golden.requests.length : count(golden.requests),
        );
      }

      // What a function took from outside before its first call was interrupted to ask for shapes keeps a reference; from then
      // on a call leaves them as they were.
      const references = Object.values(given).map((array: np.Array) => array.refCount);
      const again = seen();
      expectClose(await plain(await program(given)), value, 0, `${name}, again`);
      const second = requestsSince(again);
      expect(second).not.toContain("abstract_eval");
      if (first.includes("abstract_eval")) expect(second.length).toBeLessThan(first.length);
      expect(Object.values(given).map((array: np.Array) => array.refCount)).toEqual(references);
      if (!transformation.startsWith("vmap jvp")) expect(references).toEqual(references.map(() => 1));
    });
  }
});

describeWithRuntime("1.15", "a gradient is what finite differences give", () => {
  const clients: Tesseract[] = [];
  beforeAll(async () => {
    for (const runtime of [elementwise(), elementwise32(), vectors()]) clients.push(await connect(runtime));
    return async () => {
      await Promise.all(clients.map((client) => client.close()));
    };
  }, START_TIMEOUT);

  // Which functions there are doesn't depend on the Tesseracts that they call. float32 is too coarse for differences.
  const known = Object.keys(programFunctions({} as Tesseracts)).filter(
    (name) => !["float32", "dictionary"].includes(name),
  );
  test.each(known)("%s", { timeout: 20_000 }, async (name) => {
    const [first, second, third] = clients as [Tesseract, Tesseract, Tesseract];
    const f = programFunctions({ elementwise: first, elementwise32: second, vectors: third })[name];
    if (f === undefined) throw new Error(`There is no function ${name}`);
    const at: readonly [number[], number[]] = [
      [0.5, 1.25, -0.75],
      [1.5, -0.5, 2],
    ];
    const loss = jit(scalar(f));
    const value = async (x: readonly number[], w: readonly number[]): Promise<number> =>
      (await (await loss(Float64Array.from(x), Float64Array.from(w))).jsAsync()) as number;
    const [byX, byW] = await jit(grad(scalar(f), { argnums: [0, 1] }))(
      Float64Array.from(at[0]),
      Float64Array.from(at[1]),
    );
    const gradients = [(await byX.jsAsync()) as number[], (await byW.jsAsync()) as number[]];
    // What counts as constant in a gradient changes in a difference.
    const argument = name === "stopped" || name === "stopped_output" ? undefined : [0, 1];
    for (const which of argument ?? []) {
      for (const [index, derivative] of (gradients[which] ?? []).entries()) {
        const moved = (by: number): number[][] =>
          at.map((list, each) => (each === which ? list.map((v, i) => (i === index ? v + by : v)) : list));
        const [up, down] = [moved(1e-5), moved(-1e-5)];
        const difference = (await value(up[0] ?? [], up[1] ?? [])) - (await value(down[0] ?? [], down[1] ?? []));
        expect(Math.abs(difference / 2e-5 - derivative)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(derivative)));
      }
    }
    expect(gradients.flat().every(Number.isFinite)).toBe(true);
  });
});

/** Nested lists of the arrays of a tree, which are consumed. */
async function plain(tree: unknown): Promise<Nested> {
  if (tree instanceof np.Array) return (await tree.jsAsync()) as Nested;
  if (Array.isArray(tree)) return Promise.all(tree.map(plain));
  if (typeof tree === "object" && tree !== null && !("data" in tree)) {
    const entries = await Promise.all(
      Object.entries(tree).map(async ([key, each]) => [key, await plain(each)] as const),
    );
    return Object.fromEntries(entries);
  }
  return (typeof tree === "number" ? tree : Array.from((tree as HostArray).data as Float64Array)) as Nested;
}

function expectClose(actual: Nested, expected: Nested, tolerance: number, path: string): void {
  if (typeof expected === "number") {
    const difference = Math.abs(Number(actual) - expected);
    expect(difference, `${path}: ${JSON.stringify(actual)} is not ${expected}`).toBeLessThanOrEqual(
      tolerance * Math.max(1, Math.abs(expected)),
    );
    return;
  }
  if (expected === null || actual === null || typeof actual === "number") {
    expect(actual, path).toEqual(expected);
    return;
  }
  expect(Object.keys(actual).sort(), path).toEqual(Object.keys(expected).sort());
  for (const [key, each] of Object.entries(expected)) {
    expectClose((actual as Readonly<Record<string, Nested>>)[key] ?? null, each, tolerance, `${path}.${key}`);
  }
}
