/** Tells of bodies that are late: one timer for all of them, since most come whole at once. */

/** After its time, a body must have come at this many bytes per second at least. */
const SLOWEST = 1024;

/** A body that is being read. */
export interface WaitingBody {
  readonly began: number;
  /** That have come so far. */
  bytes: number;
  readonly onLate: () => void;
}

export class BodyClock {
  private readonly bodies = new Set<WaitingBody>();
  private timer: NodeJS.Timeout | undefined;

  /** @param timeout milliseconds that a body may take beyond one that comes at {@link SLOWEST} */
  constructor(readonly timeout: number) {}

  start(onLate: () => void): WaitingBody {
    const body: WaitingBody = { began: performance.now(), bytes: 0, onLate };
    this.bodies.add(body);
    if (this.timer === undefined) this.wait(this.timeout);
    return body;
  }

  stop(body: WaitingBody): void {
    this.bodies.delete(body);
  }

  private wait(milliseconds: number): void {
    this.timer = setTimeout(() => this.look(), milliseconds);
    this.timer.unref();
  }

  /** None is due before the timer's time: a later body than the one it was set for is due later. */
  private look(): void {
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const body of this.bodies) {
      const left = this.timeout + (body.bytes / SLOWEST) * 1000 - (now - body.began);
      if (left > 0) next = Math.min(next, left);
      else body.onLate();
    }
    this.timer = undefined;
    if (this.bodies.size > 0) this.wait(Math.min(Math.max(next, 1), this.timeout));
  }
}
