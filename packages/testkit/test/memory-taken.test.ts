// How much a message costs is seen whatever the collector does meanwhile.
import { expect, test } from "vitest";
import { collectGarbage, MemoryTaken } from "../src/transport/sides/memory-taken.js";

const MEBIBYTE = 1 << 20;
const TAKEN = 128 * MEBIBYTE;
/** The runner lets go of some as well. */
const SEEN = 100 * MEBIBYTE;
const takeAndLetGo = (bytes: number): void => void new Uint8Array(bytes);

test("what was let go of before and is collected meanwhile doesn't count as given back", () => {
  takeAndLetGo(512 * MEBIBYTE);
  const memory = new MemoryTaken();
  collectGarbage();
  takeAndLetGo(TAKEN);
  memory.look();
  expect(memory.most).toBeGreaterThan(SEEN);
});

test.each(["opens", "writes", "ends"] as const)(
  "what a sink takes is seen where it %s, even if it is let go of at once",
  (where) => {
    const memory = new MemoryTaken();
    const take = (now: string): void => {
      if (now === where) takeAndLetGo(TAKEN);
    };
    const openBuffer = memory.sinksOf(() => {
      take("opens");
      return { write: () => take("writes"), end: () => take("ends") };
    });
    const sink = openBuffer({ shape: [1], dtype: "float64", path: "[0]" } as never, undefined);
    collectGarbage();
    sink.write(new Uint8Array(1));
    collectGarbage();
    sink.end();
    expect(memory.most).toBeGreaterThan(SEEN);
  },
);
