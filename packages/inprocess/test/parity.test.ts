// What the reference answered to each payload of the shared list, recorded by interop/test/inprocess-parity.test.ts.
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { type Outcome, outcomeHere } from "./parity/outcomes.js";
import { payloads, toJson } from "./parity/payloads.js";

const lines = await readFile(new URL("./parity/reference-outcomes.jsonl", import.meta.url), "utf8");
const recorded = lines
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Outcome);

test("there is a recorded answer for each payload", () => {
  expect(recorded.length).toBe(payloads.length);
  expect(payloads.length).toBeGreaterThanOrEqual(150);
});

test.each(
  payloads.map((payload, index) => [index, payload.fixture, payload.route, toJson(payload.body), payload] as const),
)("payload %i is answered as the reference answers it: %s %s %s", async (index, _fixture, _route, _body, payload) => {
  expect(await outcomeHere(payload)).toEqual(recorded[index]);
});
