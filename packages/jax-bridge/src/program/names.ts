/** Short names of a program's values, for printing. */
import { avalText } from "../arrays/aval.js";
import type { Graph, Value } from "./ir.js";

export class Names {
  private readonly names = new Map<Value, string>();

  constructor({ inputs, captured, nodes }: Graph) {
    for (const value of [...inputs, ...captured.keys(), ...nodes.flatMap(({ outputs }) => outputs)]) this.of(value);
  }

  /** `a`, `b`, … `z`, `aa`, … */
  of(value: Value): string {
    let name = this.names.get(value);
    if (name === undefined) {
      name = letters(this.names.size);
      this.names.set(value, name);
    }
    return name;
  }

  /** `a:float64[3]`, as in a jaxpr. */
  typed(value: Value): string {
    return `${this.of(value)}:${avalText(value.aval)}`;
  }
}

function letters(index: number): string {
  const last = String.fromCharCode(97 + (index % 26));
  return index < 26 ? last : letters(Math.floor(index / 26) - 1) + last;
}
