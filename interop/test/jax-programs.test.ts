// Programs that call Tesseracts, against JAX with tesseract-jax on the same served Tesseracts: their values, and how often they
// ask.

import type { numpy as np } from "@jax-js/jax";
import { fromUrl } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { beforeAll, expect, test } from "vitest";
import { countLiveArrays } from "../src/jax-live-arrays.js";
import { type Recorder, startRecorder } from "../src/jax-recorder.js";
import { describeWithRuntime, START_TIMEOUT, sharedRuntimes } from "../src/with-runtime.js";
import { goldenPrograms, goldenVersions } from "./jax/golden.js";
import { programArrays, programFunctions, type Tesseracts, tesseractsOf, transformations } from "./jax/programs.js";
import { expectClose, plain } from "./jax/values.js";

const { elementwise, elementwise32, vectors } = sharedRuntimes({
  elementwise: { fixture: "elementwise" },
  elementwise32: { fixture: "elementwise32" },
  vectors: { fixture: "vectors" },
});

const live = await countLiveArrays();
const names = Object.keys(goldenPrograms);

test("the golden programs are those of tesseract-jax 0.5, and more than 60", () => {
  expect(goldenVersions["tesseract-jax"]).toMatch(/^0\.5\./);
  expect(names.length).toBeGreaterThan(60);
  expect(names.filter((name) => goldenPrograms[name]?.error !== undefined)).toEqual([]);
});

const stops = (name: string): boolean => name.includes(": stopped");

describeWithRuntime("1.15", "a program gives what JAX gives, and asks no more than it does", () => {
  runPrograms(names.filter((name) => !stops(name)));

  // jax-js's workers hold arrays for a moment after their last use.
  test("and all of them together leave no array behind", () => expect.poll(live, { timeout: 30_000 }).toBe(0));
});

// jax-js keeps the zero tangent of stopGradient for each function that was compiled, differentiated and compiled again: in a
// program as in jit(grad(jit(f))) of its own.
describeWithRuntime("1.15", "so does a program with stopGradient", () => runPrograms(names.filter(stops)));

function runPrograms(names: readonly string[]): void {
  let recorder: Recorder | undefined;

  beforeAll(async () => {
    const servers = { elementwise: elementwise().url, elementwise32: elementwise32().url, vectors: vectors().url };
    const started = await startRecorder(servers);
    recorder = started;
    return () => started[Symbol.asyncDispose]();
  }, START_TIMEOUT);

  /** Clients that know nothing yet, of those Tesseracts that a function calls; and what they ask. */
  async function freshTesseracts(functionName: string) {
    if (recorder === undefined) throw new Error("The recorder isn't there");
    const client = recorder.client();
    const connected = await Promise.all(
      tesseractsOf(functionName).map(async (name) => {
        const options = { transports: [host()], outputFormat: "json+base64", basePath: client.basePath(name) } as const;
        return [name, await fromUrl(client.url, options)] as const;
      }),
    );
    return {
      tesseracts: Object.fromEntries(connected) as unknown as Tesseracts,
      /** The endpoints that were asked since the last time. */
      requests: () => client.takeRequests(),
      [Symbol.asyncDispose]: async () => {
        await Promise.all(connected.map(([, tesseract]) => tesseract.close()));
      },
    };
  }

  for (const name of names) {
    // Several at a time: while one waits for its server, another is built.
    test.concurrent(name, async () => {
      const [transformation = "", functionName = ""] = name.split(": ");
      const golden = goldenPrograms[name];
      await using fresh = await freshTesseracts(functionName);
      const f = programFunctions(fresh.tesseracts)[functionName];
      const transform = transformations[transformation];
      const dtype = functionName === "float32" ? "float32" : "float64";
      const given = await programArrays(dtype);
      if (golden === undefined || f === undefined || transform === undefined) {
        throw new Error(`There is no program "${name}" in TypeScript`);
      }
      const program = transform(f);

      const value = await plain(await program(given));
      const first = fresh.requests();
      expectClose(value, golden.value ?? null, dtype === "float32" ? 1e-6 : 1e-12, name);
      expect(first.length).toBeLessThanOrEqual(golden.requests.length);
      for (const endpoint of new Set(first)) {
        const count = (list: readonly string[]): number => list.filter((each) => each === endpoint).length;
        expect(count(first), endpoint).toBeLessThanOrEqual(
          endpoint === "jacobian_vector_product" ? golden.requests.length : count(golden.requests),
        );
      }

      const references = (): readonly number[] => Object.values(given).map((array: np.Array) => array.refCount);
      expect(references()).toEqual(references().map(() => 1));
      expectClose(await plain(await program(given)), value, 0, `${name}, again`);
      const second = fresh.requests();
      expect(second).not.toContain("abstract_eval");
      if (first.includes("abstract_eval")) expect(second.length).toBeLessThan(first.length);
      expect(references()).toEqual(references().map(() => 1));
      program.dispose?.();
      for (const array of Object.values(given)) array.dispose();
    });
  }
}
