/** Building a program is synchronous, since jax-js traces synchronously; what it must wait for interrupts it. */

/** Thrown through a function that is being traced. When `ready` has resolved, the function is executed again. */
export class Suspension {
  constructor(readonly ready: Promise<void>) {}
}

/** Executes `build` until nothing interrupts it any more. */
export async function settle<T>(build: () => T): Promise<T> {
  for (;;) {
    try {
      return build();
    } catch (error) {
      if (!(error instanceof Suspension)) throw error;
      await error.ready;
    }
  }
}
