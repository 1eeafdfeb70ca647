/** References that a function takes of arrays from outside, and can't consume because it is interrupted. */
import type { JaxArray } from "../jax.js";
import { jax } from "../jax.js";

/** How many references each array had when `.ref` was first read of it. */
export type TakenReferences = ReadonlyMap<JaxArray, number>;

const watching: Map<JaxArray, number>[] = [];

/** Executes `work`; notes of which arrays with values it takes a reference. */
export function watchReferences<T>(work: (taken: TakenReferences) => T): T {
  const taken = new Map<JaxArray, number>();
  const restore = watching.length === 0 ? noteReferences() : undefined;
  watching.push(taken);
  try {
    return work(taken);
  } finally {
    watching.pop();
    restore?.();
  }
}

function noteReferences(): () => void {
  const { prototype } = jax().numpy.Array;
  const own = Object.getOwnPropertyDescriptor(prototype, "ref");
  const get = own?.get;
  if (own === undefined || get === undefined) throw new Error("jax-js's arrays have no references to count");
  Object.defineProperty(prototype, "ref", {
    ...own,
    get(this: JaxArray): unknown {
      for (const taken of watching) if (!taken.has(this)) taken.set(this, this.refCount);
      return get.call(this);
    },
  });
  return () => {
    Object.defineProperty(prototype, "ref", own);
  };
}

/**
 * Gives back what an interrupted function took and nobody will consume.
 *
 * @param held what was held for interrupted functions before it, and with it: that is released on its own
 */
export function releaseTaken(
  taken: TakenReferences,
  held: { readonly before: readonly JaxArray[]; readonly after: readonly JaxArray[] },
): void {
  for (const [array, count] of taken) {
    const times = (list: readonly JaxArray[]): number => list.filter((each) => each === array).length;
    const kept = times(held.after) - times(held.before);
    for (let surplus = array.refCount - count - kept; surplus > 0; surplus--) array.dispose();
  }
}
