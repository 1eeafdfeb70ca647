/** The checks that a Zod schema carries: limits, which the OpenAPI document tells, and an author's own rules. */
import { z } from "zod";
import { arrayTraitsOf } from "./array.js";
import type { LengthLimits, NumberLimits, Rule } from "./node.js";

type CheckDef = { readonly check: string } & Readonly<Record<string, unknown>>;

const defOf = (check: z.core.$ZodCheck<never>): CheckDef => check._zod.def as unknown as CheckDef;

/** The checks of a schema; a string format such as `z.email()` is its own check. */
function checksOf(schema: z.core.$ZodType): z.core.$ZodCheck<never>[] {
  const { def } = schema._zod;
  // What makes a custom type an array isn't a rule of its author.
  const own =
    "check" in def && arrayTraitsOf(schema) === undefined ? [schema as unknown as z.core.$ZodCheck<never>] : [];
  return [...own, ...((def.checks ?? []) as z.core.$ZodCheck<never>[])];
}

export function limitsOf(schema: z.core.$ZodType): NumberLimits & LengthLimits {
  const limits: { -readonly [K in keyof (NumberLimits & LengthLimits)]: number } = {};
  for (const check of checksOf(schema)) {
    const def = defOf(check);
    const value = Number(def.value);
    switch (def.check) {
      case "greater_than":
        limits[def.inclusive === true ? "ge" : "gt"] = value;
        break;
      case "less_than":
        limits[def.inclusive === true ? "le" : "lt"] = value;
        break;
      case "multiple_of":
        limits.multipleOf = value;
        break;
      case "min_length":
        limits.minLength = Number(def.minimum);
        break;
      case "max_length":
        limits.maxLength = Number(def.maximum);
        break;
      case "length_equals":
        limits.minLength = limits.maxLength = Number(def.length);
        break;
    }
  }
  return limits;
}

/** `z.int()`, `z.int32()`, `z.number().int()`. */
export const isInteger = (schema: z.core.$ZodType): boolean =>
  checksOf(schema).some((check) => {
    const { check: kind, format } = defOf(check);
    return kind === "number_format" && typeof format === "string" && format.includes("int");
  });

const limiting = new Set([
  "greater_than",
  "less_than",
  "multiple_of",
  "min_length",
  "max_length",
  "length_equals",
  "number_format",
]);

/** What isn't a limit: patterns, formats, refinements. */
export function rulesOf(schema: z.core.$ZodType): Rule[] {
  return checksOf(schema).flatMap((check): Rule[] => {
    const def = defOf(check);
    if (limiting.has(def.check)) return [];
    const { pattern } = def;
    return [
      {
        type: pattern instanceof RegExp ? "string_pattern_mismatch" : "value_error",
        ...(pattern instanceof RegExp ? { pattern: pattern.source } : {}),
        apply: (value) => runCheck(check, value),
      },
    ];
  });
}

function runCheck(
  check: z.core.$ZodCheck<never>,
  value: unknown,
): { readonly value: unknown; readonly fault?: string } {
  const payload: { value: unknown; issues: z.core.$ZodRawIssue[] } = { value, issues: [] };
  const running = check._zod.check(payload as never);
  if (running instanceof Promise) return { value, fault: "its rule is asynchronous, which a schema's rules can't be" };
  const [issue] = payload.issues;
  if (issue === undefined) return { value: payload.value };
  // Puts the author's message, or Zod's own, into words.
  return { value, fault: z.core.util.finalizeIssue({ ...issue, path: [] }, {}, z.core.config()).message };
}
