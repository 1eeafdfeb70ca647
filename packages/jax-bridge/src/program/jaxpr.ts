/** What depends on what in a traced function, read off the jaxpr that jax-js makes of it. */
import type { ClosedJaxpr, Jaxpr } from "@jax-js/jax";
import { type Aval, aval, isFloating } from "../arrays/aval.js";

/** Of each output of a stage. */
export interface OutputAnalysis {
  readonly aval: Aval;
  /** The input that it is, untouched; undefined if it is computed. */
  readonly passedThrough: number | undefined;
  /** The inputs that it is computed from. */
  readonly dependsOn: ReadonlySet<number>;
  /** Those of them that it has a derivative by, other than zero. */
  readonly differentiableBy: ReadonlySet<number>;
  /** Equal for outputs that are computed in the same way from the same inputs. */
  readonly expression: string;
}

/** Primitives whose derivative is zero, as their rules in jax-js say. */
const withoutDerivative: ReadonlySet<string> = new Set([
  "idiv",
  "bit_combine",
  "bit_shift",
  "bit_count",
  "floor",
  "ceil",
  "stop_gradient",
  "compare",
  "random_bits",
  "argsort",
]);

interface Facts {
  readonly dependsOn: ReadonlySet<number>;
  readonly differentiableBy: ReadonlySet<number>;
  readonly expression: string;
}

const nothing: ReadonlySet<number> = new Set();

export function analyzeJaxpr(closed: ClosedJaxpr): {
  readonly jaxpr: Jaxpr;
  readonly outputs: readonly OutputAnalysis[];
} {
  const jaxpr = closed.jaxpr.flatten().simplify();
  return { jaxpr, outputs: analyzeEquations(jaxpr, closed.consts.length) };
}

/**
 * @param constants how many of the jaxpr's binders come before the inputs
 * @param names of the inputs: equal where they are known to be equal
 */
export function analyzeEquations(
  jaxpr: Jaxpr,
  constants: number,
  names?: readonly string[],
): readonly OutputAnalysis[] {
  const facts = new Map<object, Facts>();
  jaxpr.inBinders.forEach((binder, index) => {
    const own: ReadonlySet<number> = index < constants ? nothing : new Set([index - constants]);
    const differentiable = isFloating(avalOfVar(binder)) ? own : nothing;
    const expression = index < constants ? `c${index}` : (names?.[index - constants] ?? `x${index - constants}`);
    facts.set(binder, { dependsOn: own, differentiableBy: differentiable, expression });
  });
  // Equal expressions get one short name, so that names don't grow with the program.
  const shortened = new Map<string, string>();
  const factsOf = (atom: object): Facts => {
    const known = facts.get(atom);
    if (known !== undefined) return known;
    const { value, aval: of } = atom as { readonly value?: number; readonly aval: Aval };
    return { dependsOn: nothing, differentiableBy: nothing, expression: `${of.dtype}:${value}` };
  };
  for (const equation of jaxpr.eqns) {
    const inputs = equation.inputs.map(factsOf);
    const dependsOn = union(inputs.map((each) => each.dependsOn));
    const differentiable = withoutDerivative.has(equation.primitive)
      ? nothing
      : union(inputs.map((each) => each.differentiableBy));
    const text = `${equation.primitive} ${JSON.stringify(equation.params)} ${inputs.map((each) => each.expression).join(" ")}`;
    // Random bits differ by their key, which is an input: equal text is equal values.
    const name = shortened.get(text) ?? `e${shortened.size}`;
    shortened.set(text, name);
    equation.outBinders.forEach((binder, index) => {
      facts.set(binder, {
        dependsOn,
        differentiableBy: isFloating(avalOfVar(binder)) ? differentiable : nothing,
        expression: `${name}.${index}`,
      });
    });
  }
  return jaxpr.outs.map((atom): OutputAnalysis => {
    const at = jaxpr.inBinders.indexOf(atom as (typeof jaxpr.inBinders)[number]);
    return { ...factsOf(atom), aval: avalOfVar(atom), passedThrough: at >= constants ? at - constants : undefined };
  });
}

function union(sets: readonly ReadonlySet<number>[]): ReadonlySet<number> {
  const used = sets.filter((set) => set.size > 0);
  const [only] = used;
  if (only === undefined) return nothing;
  return used.length === 1 ? only : new Set(used.flatMap((set) => [...set]));
}

const avalOfVar = ({ aval: of }: { readonly aval: unknown }): Aval => {
  const { shape, dtype, weakType } = of as Aval;
  return aval([...shape], dtype, weakType);
};

/**
 * Whether compiling keeps every number of a stage as precise as its arrays: jax-js compiles plain numbers as float32, so
 * a number such as 0.1 loses digits where it meets float64.
 */
export function compilesExactly(jaxpr: Jaxpr): boolean {
  // And takes two programs for the same that differ in the dtype of a number that they give.
  if (jaxpr.outs.some((atom) => typeof (atom as { readonly value?: unknown }).value === "number")) return false;
  const has64 = (atom: { readonly aval: unknown }): boolean => avalOfVar(atom).dtype === "float64";
  return (
    jaxpr.eqns.every((equation) =>
      equation.inputs.every((atom) => {
        const { value, aval: of } = atom as { readonly value?: unknown; readonly aval: Aval };
        return typeof value !== "number" || of.dtype !== "float32" || isShort(value);
      }),
    ) || !(jaxpr.inBinders.some(has64) || jaxpr.eqns.some((equation) => equation.outBinders.some(has64)))
  );
}

/** Whether a number has so few binary digits that it can't have been rounded to float32. */
function isShort(value: number): boolean {
  if (!Number.isFinite(value) || value === 0) return true;
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  return Number.isInteger(value * 2 ** (12 - exponent));
}
