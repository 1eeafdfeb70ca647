// The example's loop with the Tesseract in Python, and with the one in TypeScript in its place.

import { fileURLToPath } from "node:url";
import type { Tesseract } from "@tesseract-ts/core";
import { fromTesseractApi } from "@tesseract-ts/inprocess";
import { expect, test } from "vitest";
import { makeProblem, recover, type Step } from "../../examples/inverse-heat/inverse.js";
import plate from "../../examples/inverse-heat/plate.js";
import { connect } from "../src/connect.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const { python } = sharedRuntimes({
  python: { fixture: fileURLToPath(new URL("../../examples/inverse-heat/tesseract_api.py", import.meta.url)) },
});

async function recovered(heat: Tesseract): Promise<{ readonly source: Float64Array; readonly steps: readonly Step[] }> {
  const steps: Step[] = [];
  const source = await recover(heat, await makeProblem(heat, 12), 6, (step) => steps.push(step));
  return { source, steps };
}

/** The largest difference, relative to the largest value. */
const distance = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Math.max(...Array.from(a, (value, i) => Math.abs(value - (b[i] ?? Number.NaN)))) /
  Math.max(...Array.from(a, (value) => Math.abs(value)));

describeWithRuntime("1.15", "the inverse problem", () => {
  test("gives the same numbers to 1e-12, whichever language its Tesseract is written in", async () => {
    await using served = await connect(python());
    await using own = await fromTesseractApi(plate);
    const [inPython, inTypeScript] = [await recovered(served), await recovered(own as unknown as Tesseract)];
    expect(distance(inPython.source, inTypeScript.source)).toBeLessThan(1e-12);
    for (const of of ["loss", "error"] as const) {
      const [one, other] = [inPython, inTypeScript].map(({ steps }) => steps.map((step) => step[of]));
      expect(distance(one ?? [], other ?? [])).toBeLessThan(1e-12);
    }
    // It gets somewhere, too.
    const [first, last] = [inPython.steps[0], inPython.steps.at(-1)];
    expect(last?.loss).toBeLessThan(0.9 * (first?.loss ?? 0));
  });
});
