import { expect, test } from "vitest";
import { loadPart } from "../src/load-part.js";
import { failureOf, tesseractError } from "./support.js";

test("a part that can't be loaded is an error that says how to serve it, and what it was needed for", async () => {
  const cause = new TypeError("Failed to fetch dynamically imported module");
  const error = await failureOf(() => loadPart(() => Promise.reject(cause), { status: 422, body: "{}" }));
  expect(error).toEqual(tesseractError("LOAD_FAILED", "@tesseract-ts/core", cause.message));
  expect(error).toMatchObject({ cause, status: 422, body: "{}", hint: expect.stringContaining("built") });
});
