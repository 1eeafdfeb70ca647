/** Makes control flow on values an error while a function is traced, where it would otherwise go wrong in silence. */
import { isConcreteJaxArray, isJaxValue } from "../arrays/kinds.js";
import { valueUnknown } from "../errors.js";

const readers = ["js", "jsAsync", "data", "dataSync", "item", "blockUntilReady"] as const;

/**
 * Executes `work`, during which `x > 0`, `x.js()` and the like throw for values like `examples`, which stand for arrays.
 * Without this, `x > 0` compares a description of x, and is false.
 */
export function guardValues<T>(examples: readonly unknown[], work: () => T): T {
  const example = examples.find((value) => isJaxValue(value) && !isConcreteJaxArray(value));
  if (example === undefined) return work();
  const prototype = Object.getPrototypeOf(example) as object;
  // Nested: the outer program guards them already.
  if (Object.hasOwn(prototype, Symbol.toPrimitive)) return work();
  Object.defineProperty(prototype, Symbol.toPrimitive, {
    configurable: true,
    value(this: object, hint: string): string {
      // For messages.
      if (hint === "string") return this.toString();
      throw valueUnknown("An array was compared, or used as a number");
    },
  });
  for (const name of readers) {
    Object.defineProperty(prototype, name, {
      configurable: true,
      value: (): never => {
        throw valueUnknown(`An array's values were read (.${name}())`);
      },
    });
  }
  try {
    return work();
  } finally {
    for (const name of [Symbol.toPrimitive, ...readers]) Reflect.deleteProperty(prototype, name);
  }
}
