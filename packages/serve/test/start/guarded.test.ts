import { expect, test } from "vitest";
import { Guard } from "../../src/start/guarded.js";
import { LineLog } from "../../src/start/line-log.js";

test("the end of a process that ends at once is seen, also when this one is busy meanwhile", async () => {
  const log = new LineLog(undefined);
  const guard = await Guard.open({ folders: [], cleanup: [], log });
  for (const code of [0, 3]) {
    const run = guard.run({ command: "/bin/sh", args: ["-c", `echo ends with ${code}; exit ${code}`], env: {} });
    // Long enough for all of its news to come at once; were it too short, the test would only see less.
    for (const until = performance.now() + 300; performance.now() < until; );
    const { ended } = await run;
    expect(await ended).toEqual({ kind: "exited", code });
  }
  expect(log.lines).toEqual(["ends with 0", "ends with 3"]);
  await guard.close();
});
