/** The example of a Tesseract in TypeScript that Python calls. */
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromTesseractApi } from "@tesseract-ts/inprocess";
import { expect, test } from "vitest";
import absorption from "../../examples/called-from-python/absorption.js";
import { repositoryRoot } from "../src/python.js";
import { describeWithRuntime } from "../src/with-runtime.js";
import { answers, LOADED, runExample } from "./example/program.js";

const MAIN = "called-from-python/main.ts";

/** What `nls(conc ~ SSfol(Dose, Time, lKe, lKa, lCl), Theoph.1)` gives: R's help on SSfol. */
const BY_R = "log ke -2.9196, log ka 0.5752, log cl -3.9159";

const START = [-2.5, 0.5, -3];
const TIMES = [0, 0.25, 0.57, 1.12, 2.02, 3.82, 5.1, 7.03, 9.05, 12.12, 24.37];
const MEASURED = [0.74, 2.84, 6.57, 10.5, 9.66, 8.58, 8.36, 7.47, 6.89, 5.94, 3.28];

/** The gradient of the loss, by central differences of `apply`. */
async function gradient(): Promise<number[]> {
  await using tess = await fromTesseractApi(absorption);
  const loss = async (parameters: number[]): Promise<number> => {
    const { concentration } = await tess.apply({ parameters, times: TIMES, dose: 4.02 });
    return MEASURED.reduce((sum, value, i) => sum + (value - (concentration.data[i] ?? Number.NaN)) ** 2, 0);
  };
  const moved = (at: number, by: number) => START.map((value, i) => (i === at ? value + by : value));
  const h = 1e-5;
  return await Promise.all(
    START.map(async (_, i) => ((await loss(moved(i, h))) - (await loss(moved(i, -h)))) / (2 * h)),
  );
}

const numbersIn = (text: string): number[] => [...text.matchAll(/-?\d+\.\d+/g)].map(([number]) => Number(number));

async function expectGradient(printed: string | undefined): Promise<void> {
  const found = numbersIn(printed ?? "");
  const wanted = await gradient();
  expect(found).toHaveLength(wanted.length);
  for (const [i, value] of found.entries()) expect(value).toBeCloseTo(wanted[i] ?? Number.NaN, 4);
}

test("a Python that isn't there is named", async () => {
  const { status, output } = await runExample(MAIN, ["--python", "/nowhere/python"]);
  expect({ status, output }).toEqual({
    status: 1,
    output: expect.stringContaining("There is no /nowhere/python"),
  });
});

describeWithRuntime("1.15", "the example called-from-python", () => {
  test(
    "fits the parameters that R finds, with the Tesseract's Jacobian, and draws them",
    async () => {
      const file = join(tmpdir(), `called-from-python-${process.pid}.svg`);
      const { status, output, isThere } = await runExample(MAIN, ["--picture", file]);
      expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining(BY_R) });
      expect(output).toContain("residual standard error 0.732");
      await expectGradient(/gradient +(.*) by vector_jacobian_product/.exec(output)?.[1]);
      expect(output).toContain("left out: this Python has no tesseract-jax");
      await expect.poll(isThere, { timeout: LOADED / 2 }).toBe(false);
      expect(await answers(/http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? "")).toBe(false);
      const picture = await readFile(file, "utf8");
      await rm(file);
      expect(picture.match(/<circle /g)).toHaveLength(TIMES.length);
      expect(picture).toContain("loss 4.29");
    },
    LOADED,
  );

  test(
    "jax.grad through it gives the same gradient",
    async (context) => {
      if (!existsSync(join(repositoryRoot, ".venv-jax/bin/python"))) {
        const missing = "No tesseract-jax in .venv-jax: `npm run setup` makes it.";
        if (process.env.CI) throw new Error(missing);
        context.skip(missing);
      }
      const { status, output } = await runExample(MAIN, ["--jax"]);
      expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining(BY_R) });
      const byProduct = /gradient +(.*) by vector_jacobian_product/.exec(output)?.[1];
      const byJax = /(\[.*\]) by jax\.grad/.exec(output)?.[1];
      expect(byJax).toBe(byProduct);
      await expectGradient(byJax);
    },
    LOADED,
  );
});
