import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { GivenUpCalls } from "../src/given-up-calls.js";
import { CountedLease } from "./message/transports.js";

const silent = (): undefined => undefined;

describe("what a call that was given up has exported", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("is released after five minutes if nothing else tells that it isn't read", async () => {
    const calls = new GivenUpCalls();
    const lease = new CountedLease();
    calls.add("a", lease, 100);
    await vi.advanceTimersByTimeAsync(299_000);
    expect([lease.released, calls.pending]).toEqual([0, true]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([lease.released, calls.pending]).toEqual([1, false]);
    await calls.answered(calls.begin(), silent);
    expect(lease.released).toBe(1);
  });

  test("waits for more answers the longer its body is, since a server reads it in turns", async () => {
    const calls = new GivenUpCalls();
    const [small, large] = [new CountedLease(), new CountedLease()];
    calls.add("small", small, 0);
    calls.add("large", large, 5 * 65_536);
    const released: number[][] = [];
    for (let count = 1; count <= 8; count++) {
      await calls.answered(calls.begin(), silent);
      released.push([small.released, large.released]);
    }
    expect(released.map(([first]) => first)).toEqual([0, 1, 1, 1, 1, 1, 1, 1]);
    expect(released.map(([, second]) => second)).toEqual([0, 0, 0, 0, 0, 0, 1, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("isn't released by answers that came beside each other: one of them may have overtaken it", async () => {
    const calls = new GivenUpCalls();
    const lease = new CountedLease();
    calls.add("a", lease, 0);
    const together = [calls.begin(), calls.begin(), calls.begin()];
    for (const began of together) await calls.answered(began, silent);
    expect(lease.released).toBe(0);
    await calls.answered(calls.begin(), silent);
    expect(lease.released).toBe(1);
  });

  test("is asked about a hundred at a time", () => {
    const calls = new GivenUpCalls();
    for (let count = 0; count < 150; count++) calls.add(`call-${count}`, new CountedLease(), 0);
    expect(calls.headers()["tesseract-given-up"]?.split(",")).toHaveLength(100);
  });
});
