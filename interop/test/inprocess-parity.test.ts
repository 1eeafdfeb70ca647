// The same Tesseracts in Python and in TypeScript: equal answers, and equal types and places of errors, for each payload.

import { beforeAll, describe, expect, test } from "vitest";
import { type Outcome, outcomeHere, outcomeOf } from "../../packages/inprocess/test/parity/outcomes.js";
import { type Payload, payloads, toJson } from "../../packages/inprocess/test/parity/payloads.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const runtimes = sharedRuntimes({
  arrays: { fixture: "arrays" },
  limits: { fixture: "limits" },
  plain: { fixture: "plain" },
  trees: { fixture: "trees" },
  vectors: { fixture: "vectors" },
});

async function outcomeThere({ fixture, route, body }: Payload): Promise<Outcome> {
  const response = await fetch(`${runtimes[fixture]().url}/${route}`, {
    method: "POST",
    // The reference closes a connection some time after a call on it has failed, which would lose the next one.
    headers: { "content-type": "application/json", accept: "application/json+base64", connection: "close" },
    body: toJson(body),
  });
  const text = await response.text();
  return outcomeOf(response.status, response.status === 500 ? undefined : JSON.parse(text));
}

/** The reference keeps paths in sets, so that its answers have them in any order. */
const sortedMembers = (_key: string, value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;

describe("the shared list", () => {
  test("has at least 150 payloads, good and bad", async () => {
    expect(payloads.length).toBeGreaterThanOrEqual(150);
    const statuses = new Set((await Promise.all(payloads.map(outcomeHere))).map(({ status }) => status));
    expect([...statuses].sort()).toEqual([200, 404, 422, 500]);
  });
});

describeWithRuntime("1.15", "a Tesseract in TypeScript and its twin in Python", () => {
  const recorded: Outcome[] = [];
  beforeAll(async () => {
    for (const payload of payloads) recorded.push(await outcomeThere(payload));
  });

  test.each(
    payloads.map((payload, index) => [index, payload.fixture, payload.route, toJson(payload.body), payload] as const),
  )("answer %i alike: %s %s %s", async (index, _fixture, _route, _body, payload) => {
    expect(await outcomeHere(payload)).toEqual(recorded[index]);
  });

  test("give what is recorded for the tests without Python", async () => {
    const lines = recorded.map((outcome) => JSON.stringify(outcome, sortedMembers)).join("\n");
    await expect(`${lines}\n`).toMatchFileSnapshot("../../packages/inprocess/test/parity/reference-outcomes.jsonl");
  });
});
