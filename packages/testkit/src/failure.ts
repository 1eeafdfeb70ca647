/** How a case fails: with what happened, the rule, and where the rule is explained. */

/** A promise of the plugin interfaces. */
export interface Rule {
  /** The rule, as a sentence. */
  readonly text: string;
  /** The page in this project's documentation, and the place on it: `write-a-transport.md#leases`. */
  readonly documented: string;
}

/** A plugin doesn't keep a promise. */
export class ConformanceError extends Error {
  override readonly name = "ConformanceError";

  constructor(
    what: string,
    readonly rule: Rule,
    cause?: unknown,
  ) {
    super(`${what}\n  The rule: ${rule.text}\n  See docs/${rule.documented}`, cause === undefined ? {} : { cause });
  }
}

/** @throws ConformanceError unless `holds` */
export function demand(holds: boolean, what: string, rule: Rule): asserts holds {
  if (!holds) throw new ConformanceError(what, rule);
}
