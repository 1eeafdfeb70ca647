/** Makes the graph of a program from the trace of a function. */
import { isHostArray } from "@tesseract-ts/core";
import { asHostArray } from "../arrays/convert.js";
import { cudaArrayOf, isHost } from "../arrays/kinds.js";
import { RuntimeArray } from "../arrays/runtime-array.js";
import { operationKey } from "../tesseract/call-operation.js";
import { leafSegments } from "../tree/tree.js";
import { type Graph, type Node, type SownValues, Value } from "./ir.js";
import type { OutputAnalysis } from "./jaxpr.js";
import { effectAvals } from "./trace-context.js";
import type { Origin, Signature, Trace } from "./traced-function.js";

export function graphOf(trace: Trace, signature: Signature): Graph {
  const sourceNames = mergedSources(trace);
  const outputs = trace.stage.outputsWith(trace.jaxSources.map((position) => sourceNames[position] ?? ""));
  const builder = new GraphBuilder(trace, signature, outputs, sourceNames);
  return builder.build();
}

/** Names of the sources, equal where they are results of equal calls of equal inputs. */
function mergedSources(trace: Trace): readonly string[] {
  const names = trace.sources.map((_, position) => `x${position}`);
  for (;;) {
    const outputs = trace.stage.outputsWith(trace.jaxSources.map((position) => names[position] ?? ""));
    const seen = new Map<string, number>();
    let merged = false;
    for (const { effect, inputs, firstResult } of trace.effects) {
      if (effect.kind !== "call") continue;
      const key = [operationKey(effect.operation), ...inputs.map((origin) => originName(origin, outputs, names))].join(
        " ",
      );
      const first = seen.get(key);
      if (first === undefined) {
        seen.set(key, firstResult);
        continue;
      }
      effectAvals(effect).forEach((_, index) => {
        const name = names[first + index] ?? "";
        merged ||= names[firstResult + index] !== name;
        names[firstResult + index] = name;
      });
    }
    if (!merged) return names;
  }
}

const constantNames = new WeakMap<object, string>();
let lastConstant = 0;

/** Equal for the same array, and for equal scalars. */
function constantName(array: object): string {
  if (isHostArray(array) && array.shape.length === 0) return `${array.dtype}=${String(array.data[0])}`;
  const own: object = isHostArray(array) ? array.data : array;
  let name = constantNames.get(own);
  if (name === undefined) {
    lastConstant += 1;
    name = `k${lastConstant}`;
    constantNames.set(own, name);
  }
  return isHostArray(array) ? `${name}[${array.shape.join(",")}]` : name;
}

function originName(origin: Origin, outputs: readonly OutputAnalysis[], names: readonly string[]): string {
  switch (origin.kind) {
    case "computed":
      return outputs[origin.position]?.expression ?? "";
    case "opaque":
      return names[origin.source] ?? "";
    case "constant":
      return constantName(origin.array);
  }
}

class GraphBuilder {
  private readonly nodes: Node[] = [];
  private readonly captured = new Map<Value, RuntimeArray>();
  private readonly constants = new Map<string, Value>();
  private readonly sown: SownValues[] = [];
  /** The value of each source; results of equal calls share theirs. */
  private readonly sources: (Value | undefined)[];
  private readonly byName = new Map<string, Value>();
  /** The computed values that are used, by their expression. */
  private readonly computed = new Map<string, Value>();
  /** Positions of computed outputs by the effects that they depend on, each of another expression. */
  private readonly groups = new Map<string, number[]>();
  private readonly effectOfSource: (number | undefined)[];

  constructor(
    private readonly trace: Trace,
    private readonly signature: Signature,
    private readonly outputs: readonly OutputAnalysis[],
    private readonly names: readonly string[],
  ) {
    this.sources = trace.sources.map(() => undefined);
    this.effectOfSource = trace.sources.map(() => undefined);
    trace.effects.forEach(({ effect, firstResult }, index) => {
      effectAvals(effect).forEach((_, result) => {
        this.effectOfSource[firstResult + result] = index;
      });
    });
    this.group();
  }

  build(): Graph {
    const paths = leafSegments(this.signature.structure);
    const inputs = this.signature.avals.map((aval, index) => {
      const value = new Value(aval, argumentName(paths[index] ?? []));
      this.define(index, value);
      return value;
    });
    for (const { effect, inputs: origins, firstResult } of this.trace.effects) {
      if (this.byName.has(this.names[firstResult] ?? "")) {
        // The results of an equal call are there already.
        effectAvals(effect).forEach((_, index) => {
          this.sources[firstResult + index] = this.byName.get(this.names[firstResult + index] ?? "");
        });
        continue;
      }
      const values = origins.map((origin) => this.valueOf(origin));
      const results = effectAvals(effect).map((aval, index) => {
        const path = effect.kind === "call" ? effect.operation.spec.outputSlots[index]?.path : effect.sow.name;
        const value = new Value(aval, path ?? "");
        this.define(firstResult + index, value);
        return value;
      });
      if (effect.kind === "call") {
        this.nodes.push({ kind: "call", operation: effect.operation, inputs: values, outputs: results });
      } else {
        this.nodes.push({ kind: "sow", sow: effect.sow, inputs: values, outputs: results });
        this.sown.push({ sow: effect.sow, values: results });
      }
    }
    const outputs = this.trace.outputs.map((origin) => this.valueOf(origin));
    const { nodes, captured, sown } = this;
    return { inputs, captured, nodes, outputs, sown, compile: this.trace.stage.compile };
  }

  private define(position: number, value: Value): void {
    this.sources[position] = value;
    this.byName.set(this.names[position] ?? "", value);
  }

  /** Values that become known at the same moment are computed by one stage. */
  private group(): void {
    const seen = new Set<string>();
    const origins = [...this.trace.effects.flatMap(({ inputs }) => inputs), ...this.trace.outputs];
    for (const origin of origins) {
      if (origin.kind !== "computed") continue;
      const output = this.outputs[origin.position];
      if (output === undefined || output.passedThrough !== undefined || seen.has(output.expression)) continue;
      seen.add(output.expression);
      const key = this.groupOf(output);
      this.groups.set(key, [...(this.groups.get(key) ?? []), origin.position]);
    }
  }

  private groupOf({ dependsOn }: OutputAnalysis): string {
    const effects = [...dependsOn].flatMap((input) => this.effectOfSource[this.trace.jaxSources[input] ?? -1] ?? []);
    return [...new Set(effects)].sort((a, b) => a - b).join(",");
  }

  private valueOf(origin: Origin): Value {
    switch (origin.kind) {
      case "constant":
        return this.constant(origin.array);
      case "opaque":
        return this.source(origin.source);
      case "computed": {
        const output = this.outputs[origin.position];
        if (output === undefined) throw new Error("A traced function has fewer outputs than it had");
        if (output.passedThrough !== undefined) return this.source(this.trace.jaxSources[output.passedThrough] ?? -1);
        if (!this.computed.has(output.expression)) this.addStage(this.groupOf(output));
        const value = this.computed.get(output.expression);
        if (value === undefined) throw new Error("A stage lacks one of its outputs");
        return value;
      }
    }
  }

  private addStage(group: string): void {
    const positions = this.groups.get(group) ?? [];
    const { stage, inputs } = this.trace.stage.select(positions);
    const outputs = positions.map((position) => {
      const { aval, expression } = this.outputs[position] as OutputAnalysis;
      const value = new Value(aval);
      this.computed.set(expression, value);
      return value;
    });
    const sources = inputs.map((input) => this.source(this.trace.jaxSources[input] ?? -1));
    this.nodes.push({ kind: "stage", stage, inputs: sources, outputs });
  }

  private source(position: number): Value {
    const value = this.sources[position];
    if (value === undefined) throw new Error("A function uses the result of a call before it makes it");
    return value;
  }

  private constant(array: object): Value {
    const name = constantName(array);
    let value = this.constants.get(name);
    if (value === undefined) {
      const cuda = cudaArrayOf(array);
      const runtime = isHost(array)
        ? RuntimeArray.ofHost(asHostArray(array))
        : cuda === undefined
          ? undefined
          : RuntimeArray.ofCuda(cuda, false);
      if (runtime === undefined) throw new Error("A constant is no array");
      value = new Value(runtime.aval, "constant");
      this.captured.set(value, runtime);
      this.constants.set(name, value);
    }
    return value;
  }
}

const argumentName = ([first, ...rest]: readonly string[]): string =>
  [`argument ${/\d+/.exec(first ?? "")?.[0] ?? ""}`, ...rest].join(".");
