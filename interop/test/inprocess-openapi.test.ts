// The OpenAPI document of a Tesseract in TypeScript beside that of its twin in Python: the same but for the wording.

import { createRunner } from "@tesseract-ts/inprocess";
import { expect, test } from "vitest";
import { twins } from "../../packages/inprocess/test/parity/outcomes.js";
import type { FixtureName } from "../../packages/inprocess/test/parity/payloads.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const runtimes = sharedRuntimes({
  arrays: { fixture: "arrays" },
  limits: { fixture: "limits" },
  plain: { fixture: "plain" },
  trees: { fixture: "trees" },
  vectors: { fixture: "vectors", debug: true },
});

type Json = { readonly [key: string]: unknown };

/** Without what is for people to read. */
function structure(value: unknown, inProperties = false): unknown {
  if (Array.isArray(value)) return value.map((item) => structure(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(
        ([key, member]) =>
          inProperties || !((key === "description" || key === "examples") && typeof member !== "object"),
      )
      .filter(([key]) => inProperties || key !== "examples")
      .map(([key, member]) => [key, structure(member, key === "properties")]),
  );
}

describeWithRuntime("1.15", "the OpenAPI document of a Tesseract in TypeScript", () => {
  test.each(["arrays", "limits", "plain", "trees", "vectors"] as const satisfies FixtureName[])(
    "is its Python twin's: %s",
    async (name) => {
      const there = (await (await fetch(`${runtimes[name]().url}/openapi.json`)).json()) as Json;
      const here = JSON.parse(JSON.stringify(createRunner(twins[name]).openapi({ test: name === "vectors" }))) as Json;
      const parts = (document: Json): unknown => {
        const {
          info: _,
          paths,
          components,
          ...extras
        } = document as { readonly components: { readonly schemas: Json } } & Json;
        // The settings of the reference's own command line, which no client sends.
        const { TestCliConfig: _cli, TestSpec: _spec, ...schemas } = components.schemas;
        return structure({ paths, schemas, extras });
      };
      expect(parts(here)).toEqual(parts(there));
    },
  );
});
