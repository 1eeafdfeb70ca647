/** The example of a page that calls a Tesseract, in a headless Chromium. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Tesseract } from "@tesseract-ts/core";
import { fromTesseractApi } from "@tesseract-ts/inprocess";
import { type Browser, chromium, type Page, type Request } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import grayScott from "../../examples/web-page/gray-scott.js";
import { type GrayScott, simulate } from "../../examples/web-page/page/simulation.js";
import { chromiumArguments, chromiumPath, missingChromium } from "../src/chromium.js";
import { answers, ExampleProgram, LOADED } from "./example/program.js";

describe("the example web-page", () => {
  if (chromiumPath === undefined) {
    test("needs a Chromium", (context) => {
      if (process.env.CI) throw new Error(missingChromium);
      context.skip(missingChromium);
    });
    return;
  }
  const executablePath = chromiumPath;
  const folder = mkdtempSync(join(tmpdir(), "example-"));
  let example: ExampleProgram;
  let browser: Browser;
  let page: Page;
  let tesseract: string;
  const failures: string[] = [];

  beforeAll(async () => {
    example = new ExampleProgram("web-page/main.ts", ["--port", "0"], { TMPDIR: folder });
    browser = await chromium.launch({ executablePath, args: chromiumArguments, timeout: LOADED });
    page = await browser.newPage();
    page.setDefaultTimeout(LOADED);
    page.on("pageerror", (error) => failures.push(String(error)));
    const [, url = "", of = ""] = await example.printed(/ page +(\S+)\n +Tesseract +(\S+),/);
    tesseract = of;
    // The first call is held, so that nothing depends on how long one takes.
    held = await holding(() => page.goto(url));
  }, LOADED);
  afterAll(async () => {
    await browser?.close();
    await example?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  let held: Request;

  /** Does what makes the page call the Tesseract, and keeps that call from it. */
  async function holding(work: () => Promise<unknown>): Promise<Request> {
    const arrived = new Promise<Request>((resolve) => {
      void page.route("**/apply", (route) => resolve(route.request()), { times: 1 });
    });
    await work();
    return arrived;
  }

  /** That a call of the page was given up by it. */
  const givenUp = (call: Request): Promise<unknown> =>
    expect.poll(() => call.failure()?.errorText, { timeout: LOADED / 2 }).toBe("net::ERR_ABORTED");

  const status = (pattern: RegExp): Promise<unknown> =>
    expect.poll(() => page.textContent("#status"), { timeout: LOADED / 2 }).toMatch(pattern);

  test(
    "a new value gives up the call that is under way, and the results are the Tesseract's own",
    async () => {
      await status(/^Step 0 of 8,000/);
      const next = await holding(() => page.selectOption("#size", "64"));
      await givenUp(held);
      await page.fill("#steps", "500");
      await givenUp(next);
      await status(/^Step 500 of 500.*done$/);

      await using here = await fromTesseractApi(grayScott);
      const settings = { feed: 0.037, kill: 0.06, size: 64, steps: 500 };
      let amount = 0;
      let brightest = 0;
      for await (const state of simulate(
        here as unknown as Tesseract<GrayScott>,
        settings,
        new AbortController().signal,
      )) {
        amount = state.amount;
        brightest = state.v.indexOf(Math.max(...state.v));
      }
      await status(new RegExp(`${amount.toFixed(6)} on average`));
      const drawn = await page.evaluate((at) => {
        const canvas = document.querySelector("canvas");
        const image = canvas?.getContext("2d")?.getImageData(0, 0, canvas.width, canvas.height);
        if (image === undefined) return undefined;
        const sums = Array.from({ length: image.data.length / 4 }, (_, i) =>
          image.data.slice(4 * i, 4 * i + 3).reduce((sum, channel) => sum + channel, 0),
        );
        const points = document.querySelector("polyline")?.getAttribute("points")?.split(" ").length;
        return { size: image.width, colors: new Set(sums).size, isBrightest: sums[at] === Math.max(...sums), points };
      }, brightest);
      expect(drawn).toMatchObject({ size: 64, isBrightest: true, points: 3 });
      expect(drawn?.colors).toBeGreaterThan(50);
      expect(await page.getAttribute("#progress", "value")).toBe("1");
    },
    LOADED,
  );

  test(
    "Stop gives up the call",
    async () => {
      const call = await holding(() => page.click("#run"));
      await page.click("#stop");
      await givenUp(call);
      await status(/^Step 0 of 500.*stopped$/);
      expect(await page.isDisabled("#stop")).toBe(true);
    },
    LOADED,
  );

  test("it fits a phone's width, and follows the device's color scheme", async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const colors: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      colors.push(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
    }
    expect(colors).toEqual(["rgb(255, 255, 255)", "rgb(13, 17, 23)"]);
  });

  test("no other page may call the Tesseract", async () => {
    const call = (origin: string): Promise<Response> => fetch(`${tesseract}/health`, { headers: { origin } });
    const [own, other] = await Promise.all([new URL(page.url()).origin, "http://127.0.0.1:9"].map(call));
    expect([own?.status, other?.status]).toEqual([200, 403]);
    expect(own?.headers.get("access-control-allow-origin")).toBe(new URL(page.url()).origin);
    expect(other?.headers.get("access-control-allow-origin")).toBe(null);
  });

  test(
    "once the server is down, the page says so, with what to do",
    async () => {
      example.interrupt("SIGTERM"); // which Vite has its own ideas about
      const { status: ended, output } = await example.ended;
      expect({ ended, output }).toMatchObject({ ended: 143 });
      await expect.poll(() => example.isThere, { timeout: LOADED / 2 }).toBe(false);
      expect(await answers(`${tesseract}/health`)).toBe(false);
      expect(readdirSync(folder).filter((name) => name.startsWith("web-page-"))).toEqual([]);
      await page.selectOption("#pattern", { label: "Corals" });
      await expect.poll(() => page.isVisible("#error"), { timeout: LOADED / 2 }).toBe(true);
      expect(await page.textContent("#error")).toMatch(/No connection to http:\S+.*run again/s);
      await status(/can't be called/);
    },
    LOADED,
  );

  test("nothing else went wrong in the page", () => {
    expect(failures).toEqual([]);
  });
});
