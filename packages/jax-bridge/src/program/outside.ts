/** jax-js arrays that a function takes from outside, without being given them. */
import type { ClosedJaxpr } from "@jax-js/jax";
import { isConcreteJaxArray } from "../arrays/kinds.js";
import type { JaxArray } from "../jax.js";
import { currentBuild } from "./suspension.js";

/**
 * A program executes its function several times, and yet consumes what the function consumes from outside once: each
 * execution leaves the references as they were, and the end of the program takes the one that was consumed.
 */
export class OutsideArrays {
  private arrays: readonly JaxArray[] = [];
  private readonly consumed = new Set<JaxArray>();
  /** What traces hold that were given up or are over, once for each trace. */
  private readonly heldEarlier: JaxArray[] = [];
  private countsBefore: ReadonlyMap<JaxArray, number> = new Map();

  /** A trace of the function that doesn't become the program's holds these. */
  holdUntilTraced({ consts }: ClosedJaxpr): void {
    this.heldEarlier.push(...consts.filter(isConcreteJaxArray));
  }

  /** A trace was interrupted: its function will be traced again, maybe as another object. */
  interrupt(): void {
    currentBuild().held.push(...this.heldEarlier.splice(0));
  }

  /** The trace that becomes the program's begins. */
  begin(): void {
    const held = [...this.heldEarlier, ...currentBuild().held];
    this.countsBefore = new Map(held.map((array) => [array, array.refCount]));
  }

  /**
   * It is there. Arrays that the earlier traces had as well come from outside; the others were made within the function.
   *
   * @param kept whether jax-js keeps the trace, and has repeated each reference of it for this one
   */
  settle({ consts }: ClosedJaxpr, kept: boolean): void {
    const last = new Set<unknown>(consts);
    const { held } = currentBuild();
    for (const array of held.splice(0)) (last.has(array) ? this.heldEarlier : held).push(array);
    for (const array of this.heldEarlier) if (!last.has(array)) array.dispose();
    for (const constant of new Set(consts)) {
      const before = isConcreteJaxArray(constant) ? this.countsBefore.get(constant) : undefined;
      if (!isConcreteJaxArray(constant)) continue;
      if (before === undefined) {
        constant.dispose();
        continue;
      }
      const taken = constant.refCount - before - (kept ? 1 : 0);
      // With `.ref` in the function each trace has taken one of its own; without, the one that is there stays.
      const own = taken > 0 ? 1 + this.heldEarlier.filter((array) => array === constant).length : 0;
      const given = (kept ? Math.max(0, own - 1) : own) + (kept ? 1 : 0);
      for (let count = given; count > 0; count--) constant.dispose();
    }
    this.heldEarlier.length = 0;
    this.arrays = consts.filter((each) => !isConcreteJaxArray(each) || each.refCount > 0) as unknown as JaxArray[];
  }

  /** Executes something that executes the function. */
  preserve<T>(work: () => T): T {
    const before = new Map<JaxArray, number>();
    for (const array of this.arrays) {
      if (isConcreteJaxArray(array)) before.set(array, array.refCount);
      array.ref;
    }
    try {
      return work();
    } finally {
      for (const [array, count] of before) {
        if (array.refCount - 1 < count) this.consumed.add(array);
        else array.dispose();
      }
    }
  }

  /** The program is over. */
  release(): void {
    for (const array of this.consumed) if (array.refCount > 0) array.dispose();
    this.consumed.clear();
  }
}

export const nothingOutside = new OutsideArrays();
