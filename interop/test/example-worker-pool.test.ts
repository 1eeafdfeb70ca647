/** The example of a sweep over many worker processes. */
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromTesseractApi } from "@tesseract-ts/inprocess";
import { describe, expect, test } from "vitest";
import pendulum from "../../examples/worker-pool/pendulum.js";
import { answers, ExampleProgram, LOADED, runExample } from "./example/program.js";

const MAIN = "worker-pool/main.ts";
const SETS = 12;
const PERIODS = 10;

describe("the example worker-pool", () => {
  test(
    "the answers are complete and the same, a killed process or not, and nothing is left",
    async () => {
      const file = join(tmpdir(), `worker-pool-${process.pid}.svg`);
      const args = ["--sets", `${SETS}`, "--periods", `${PERIODS}`, "--workers", "2", "--picture", file];
      const { status, output, isThere } = await runExample(MAIN, args);
      expect({ status, output }).toEqual({ status: 0, output: expect.stringContaining("complete, and the same") });
      expect(output).toMatch(/^ +2 +\d+\.\d+ +\d+\.\d+ +1\.00 × +\d+$/m);
      expect(output).toMatch(/killed +process \d+/);
      expect(output).toContain(`${SETS} of ${SETS}, by `);
      const killed = Number(/killed +process (\d+)/.exec(output)?.[1]);
      expect(() => process.kill(killed, 0)).toThrow("ESRCH");

      await using here = await fromTesseractApi(pendulum);
      let chaotic = 0;
      for (let i = 0; i < SETS; i++) {
        const { exponent } = await here.apply({ drive: 0.9 + (0.6 * i) / (SETS - 1), periods: PERIODS });
        if ((exponent.data[0] ?? 0) > 0.01) chaotic++;
      }
      expect(output).toMatch(new RegExp(`chaotic +${chaotic} of ${SETS}`));

      await expect.poll(isThere, { timeout: LOADED / 2 }).toBe(false);
      const servers = [...output.matchAll(/http:\/\/127\.0\.0\.1:\d+/g)].map(([url]) => url);
      expect(servers).toHaveLength(2);
      expect(await Promise.all(servers.map(answers))).toEqual([false, false]);
      const picture = await readFile(file, "utf8");
      await rm(file);
      expect(picture.match(/<circle /g)).toHaveLength(SETS);
    },
    LOADED,
  );

  test(
    "Ctrl-C in the middle of it ends the server and its processes",
    async () => {
      await using example = new ExampleProgram(MAIN, ["--periods", "100000", "--workers", "2"]);
      const [, url = ""] = await example.printed(/ at (http:\S+)/);
      expect(await answers(`${url}/health`)).toBe(true);
      example.interrupt();
      const { status, output } = await example.ended;
      expect({ status, output }).toEqual({ status: "SIGINT", output: expect.stringContaining("Stopped") });
      await expect.poll(() => example.isThere, { timeout: LOADED / 2 }).toBe(false);
      expect(await answers(`${url}/health`)).toBe(false);
    },
    LOADED,
  );
});
