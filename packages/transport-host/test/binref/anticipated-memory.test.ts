import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { AnticipatedMemory } from "../../src/binref/anticipated-memory.js";

const large = 1 << 23;

describe("memory for the next answer", () => {
  test("is as long as was asked for, whatever the answer before had", async () => {
    const memory = new AnticipatedMemory();
    for (const bytes of [large, large, 0, 100, large + 8, large, 2 * large, 2 * large]) {
      memory.prepare();
      const taken = await memory.take(bytes, "y");
      expect(taken.length).toBe(bytes);
      expect(taken.buffer.byteLength).toBe(bytes);
    }
  });

  test("belongs to who took it: no two get the same", async () => {
    const memory = new AnticipatedMemory();
    const buffers = new Set<ArrayBuffer>();
    for (let i = 0; i < 4; i++) {
      memory.prepare();
      memory.prepare();
      buffers.add((await memory.take(large, "y")).buffer);
      buffers.add((await memory.take(large, "z")).buffer);
    }
    expect(buffers.size).toBe(8);
  });

  test("isn't written any more once it was taken, however soon", async () => {
    const memory = new AnticipatedMemory();
    await memory.take(large, "y");
    memory.prepare();
    const taken = (await memory.take(large, "y")).fill(7);
    await sleep(50);
    expect(taken.every((byte) => byte === 7)).toBe(true);
  });

  test("is an error with the array's place where there isn't that much", async () => {
    const taking = new AnticipatedMemory().take(Number.MAX_SAFE_INTEGER, "a.b");
    await expect(taking).rejects.toMatchObject({ code: "DECODE_FAILED", message: expect.stringContaining("a.b: ") });
  });
});
