// How much a message costs is seen whatever the collector does meanwhile.
import { expect, test } from "vitest";
import { collectGarbage, MemoryTaken } from "../src/transport/sides/memory-taken.js";

const MEBIBYTE = 1 << 20;
const TAKEN = 128 * MEBIBYTE;
/** The runner lets go of some as well. */
const SEEN = 100 * MEBIBYTE;
/** What is held until it is let go of: otherwise it may be collected before anyone can look. */
const held: Uint8Array[] = [];
const take = (bytes: number): void => void held.push(new Uint8Array(bytes));
const letGo = (): void => {
  held.length = 0;
};

test("what was let go of before and is collected meanwhile doesn't count as given back", () => {
  take(512 * MEBIBYTE);
  letGo();
  const memory = new MemoryTaken();
  collectGarbage();
  take(TAKEN);
  memory.look();
  letGo();
  expect(memory.most).toBeGreaterThan(SEEN);
});

test.each(["opens", "writes", "ends"] as const)(
  "what a sink takes is seen where it %s, even if it is let go of at once",
  (where) => {
    const memory = new MemoryTaken();
    const takeAt = (now: string): void => {
      if (now === where) take(TAKEN);
    };
    const collectAll = (): void => {
      letGo();
      collectGarbage();
    };
    const openBuffer = memory.sinksOf(() => {
      takeAt("opens");
      return { write: () => takeAt("writes"), end: () => takeAt("ends") };
    });
    const sink = openBuffer({ shape: [1], dtype: "float64", path: "[0]" } as never, undefined);
    collectAll();
    sink.write(new Uint8Array(1));
    collectAll();
    sink.end();
    collectAll();
    expect(memory.most).toBeGreaterThan(SEEN);
  },
);
