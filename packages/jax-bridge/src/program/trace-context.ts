/** Where a function that is being executed for a program finds the results of its calls. */
import type { Aval } from "../arrays/aval.js";
import { isJaxValue } from "../arrays/kinds.js";
import { isOpaque } from "../arrays/opaque.js";
import { impure } from "../errors.js";
import { type CallOperation, operationKey } from "../tesseract/call-operation.js";
import type { CallInput } from "../tesseract/call-spec.js";
import { structureKey } from "../tree/tree.js";
import type { Sow } from "./ir.js";

/** What a function does besides computing with jax-js. */
export type Effect =
  | { readonly kind: "call"; readonly operation: CallOperation }
  | { readonly kind: "sow"; readonly sow: Sow; readonly outputAvals: readonly Aval[] };

/** An effect with what it was given and what it gave. */
export interface Recorded {
  readonly effect: Effect;
  readonly key: string;
  readonly inputs: readonly CallInput[];
}

const effectKey = (effect: Effect): string =>
  effect.kind === "call"
    ? operationKey(effect.operation)
    : `sow ${effect.sow.name} ${effect.sow.mode} ${structureKey(effect.sow.structure)}`;

export const effectAvals = (effect: Effect): readonly Aval[] =>
  effect.kind === "call" ? effect.operation.outputAvals : effect.outputAvals;

export interface TraceOptions {
  /** The tag of what is sown and to be kept; undefined if nothing is. */
  readonly sowTag: string | undefined;
}

export class TraceContext {
  readonly recorded: Recorded[] = [];
  /** What was thrown through the function, should it have been caught there. */
  interruption: unknown;

  /**
   * @param expected the keys of the effects that are known, in order
   * @param resultsOf the results of the effect with this position
   */
  constructor(
    readonly options: TraceOptions,
    private readonly expected: readonly string[],
    private readonly resultsOf: (position: number, effect: Effect) => readonly unknown[] | undefined,
  ) {}

  /** The results of an effect. Its inputs are consumed. */
  perform(effect: Effect, inputs: readonly CallInput[]): readonly unknown[] {
    const position = this.recorded.length;
    const key = effectKey(effect);
    const expected = this.expected[position];
    if (expected !== undefined && expected !== key) {
      throw this.interrupt(impure(`its call number ${position + 1} was another one`));
    }
    const results = this.resultsOf(position, effect);
    if (results === undefined) throw this.interrupt(impure("it made another call"));
    this.recorded.push({ effect, key, inputs });
    return results;
  }

  /** What to throw: it is remembered, should the function catch it. */
  interrupt(reason: unknown): unknown {
    this.interruption = reason;
    return reason;
  }
}

// Which program a call belongs to is known only from what is being executed: a function doesn't get its program passed.
const contexts: TraceContext[] = [];

/** The context of the function that is being executed for a program; undefined outside programs. */
export const currentContext = (): TraceContext | undefined => contexts.at(-1);

/** Executes `work` as a part of a program. */
export function within<T>(context: TraceContext, work: () => T): T {
  contexts.push(context);
  try {
    return work();
  } finally {
    contexts.pop();
  }
}

export const isTraced = (value: unknown): boolean => isJaxValue(value) || isOpaque(value);
