/**
 * Calls by the ids that clients give them. A client that has given a call up asks whether it is still being read, since
 * until then it must keep what the call's arrays refer to.
 */
import { Refusal } from "../http/refusal.js";

/** A call that comes later than this after it was given up, comes from nowhere. */
const REMEMBER_MS = 600_000;
/** More aren't remembered: each is a few dozen bytes, and none is worth more to a hostile client. */
const MOST_REMEMBERED = 100_000;

export class KnownCalls {
  private readonly reading = new Map<string, AbortController>();
  /** When each was given up, oldest first. */
  private readonly givenUp = new Map<string, number>();

  /**
   * A call begins whose arrays are going to be read.
   *
   * @throws Refusal 409 if it was given up before it came
   */
  begin(id: string, controller: AbortController): void {
    if (this.givenUp.has(id)) throw new Refusal(409, "This call was given up before it came", {}, true);
    this.reading.set(id, controller);
  }

  /** Its arrays aren't read any more. */
  read(id: string): void {
    this.reading.delete(id);
  }

  /** These calls were given up: they end if they run, and are refused if they come. */
  giveUp(ids: readonly string[]): void {
    const now = Date.now();
    for (const id of ids) {
      if (!this.givenUp.has(id)) this.givenUp.set(id, now);
      this.reading.get(id)?.abort(new Refusal(499, "The call was given up", {}, true));
    }
    for (const [id, at] of this.givenUp) {
      if (this.givenUp.size <= MOST_REMEMBERED && now - at < REMEMBER_MS) break;
      this.givenUp.delete(id);
    }
  }

  /** Those that aren't being read, and won't be. */
  ended(ids: readonly string[]): readonly string[] {
    return ids.filter((id) => !this.reading.has(id) && this.givenUp.has(id));
  }
}
