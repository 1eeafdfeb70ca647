import { expect, test, vi } from "vitest";
import { LazyAbortController } from "../src/ending.js";

test("a signal that is read before the end is aborted with the reason", () => {
  const onAbort = vi.fn();
  const ending = new LazyAbortController(onAbort);
  const { signal } = ending;
  expect(signal.aborted).toBe(false);
  ending.throwIfAborted();
  ending.abort("over");
  ending.abort("again");
  expect([signal.aborted, signal.reason, ending.signal]).toEqual([true, "over", signal]);
  expect(onAbort.mock.calls).toEqual([["over"]]);
});

test("a signal that is first read after the end is aborted too", () => {
  const ending = new LazyAbortController(() => {});
  ending.abort("over");
  expect([ending.signal.aborted, ending.signal.reason]).toEqual([true, "over"]);
  expect(() => ending.throwIfAborted()).toThrow("over");
});
