/** A promise that says so when it is taken for its result. */
import { programError } from "../errors.js";

/**
 * Forgetting `await` is an error with that advice, rather than `undefined`.
 *
 * @param what was called, for the message
 */
export function guardedPromise<T>(promise: Promise<T>, what: string): Promise<T> {
  return new Proxy(promise, {
    get(target, property) {
      if (typeof property === "symbol" && property !== Symbol.iterator) {
        const value: unknown = Reflect.get(target, property, target);
        return value;
      }
      if (property === "constructor" || property === "toJSON") return Reflect.get(target, property, target);
      if (property === "then" || property === "catch" || property === "finally") {
        return (Reflect.get(target, property, target) as (...args: unknown[]) => unknown).bind(target);
      }
      // The promise's own failure would be reported as one that nobody handled.
      target.catch(() => undefined);
      throw programError(
        "AWAIT_MISSING",
        `"${String(property)}" was read from the promise of ${what}, not from its result`,
        {
          hint: `Outside programs calls are asynchronous: const result = await ${what}(…).`,
        },
      );
    },
  });
}
