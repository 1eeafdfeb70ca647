/** How calls end early, and how bodies that come slowly are told of. */
import { describe, expect, test, vi } from "vitest";
import { CallEnding } from "../src/calls/ending.js";
import { BodyClock } from "../src/http/body-clock.js";

describe("the end of a call", () => {
  test("is told once, with its reason, to those who still want to know", () => {
    const ending = new CallEnding();
    const told: unknown[] = [];
    const gone = (reason: unknown) => void told.push(["gone", reason]);
    ending.onAbort((reason) => told.push(["one", reason]));
    ending.onAbort(gone);
    ending.offAbort(gone);
    ending.abort("first");
    ending.abort("second");
    ending.onAbort((reason) => told.push(["late", reason]));
    expect(told).toEqual([
      ["one", "first"],
      ["late", "first"],
    ]);
    expect(ending.aborted).toBe(true);
    expect(() => ending.throwIfAborted()).toThrow("first");
  });

  test("is a signal's, whether it was asked for before or after", () => {
    const [before, after] = [new CallEnding(), new CallEnding()];
    const { signal } = before;
    expect(signal.aborted).toBe(false);
    before.abort("gone");
    after.abort("gone");
    expect([signal.aborted, signal.reason, before.signal === signal]).toEqual([true, "gone", true]);
    expect([after.signal.aborted, after.signal.reason]).toEqual([true, "gone"]);
  });

  test("ends the waiting for work, and for nothing that has been done", async () => {
    const ending = new CallEnding();
    expect(await ending.unlessAborted(Promise.resolve(1))).toBe(1);
    await expect(ending.unlessAborted(Promise.reject(new RangeError("no")))).rejects.toThrow(RangeError);
    const waiting = ending.unlessAborted(new Promise(() => {}));
    ending.abort(new Error("gone"));
    await expect(waiting).rejects.toThrow("gone");
    await expect(ending.unlessAborted(Promise.resolve(1))).rejects.toThrow("gone");
  });
});

test("a body is late by its own time, whenever others began, and not while it comes", () => {
  vi.useFakeTimers();
  try {
    const clock = new BodyClock(1000);
    const late: string[] = [];
    const wait = (name: string) => {
      const body = clock.start(() => {
        late.push(name);
        clock.stop(body);
      });
      return body;
    };
    const first = wait("first");
    vi.advanceTimersByTime(600);
    wait("second");
    const coming = wait("coming");
    const done = wait("done");
    clock.stop(done);
    vi.advanceTimersByTime(399);
    expect(late).toEqual([]);
    coming.bytes = 1024;
    vi.advanceTimersByTime(2);
    expect(late).toEqual(["first"]);
    vi.advanceTimersByTime(600);
    expect(late).toEqual(["first", "second"]);
    vi.advanceTimersByTime(1000);
    expect(late).toEqual(["first", "second", "coming"]);
    vi.advanceTimersByTime(5000);
    expect(vi.getTimerCount()).toBe(0);
    expect(first.bytes).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
