/** How a container is ended: through an engine that stands in for podman, whose containers take half a second to be set up. */
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fromImage } from "../../src/index.js";
import { atTheEnd, failureOf, tesseractError } from "../support.js";

interface StandIn {
  readonly engine: string;
  /** What became of its container, in order. */
  history(): Promise<readonly string[]>;
}

/** @param whenAsked what its container does on SIGTERM */
async function standIn(whenAsked: "end" | "nothing"): Promise<StandIn> {
  const folder = await mkdtemp(join(tmpdir(), "tesseract-ending-"));
  atTheEnd(() => rm(folder, { recursive: true, force: true }));
  const [engine, history] = [join(folder, "engine"), join(folder, "history")];
  const script = `#!/bin/bash
say() { echo "$1" >> ${history}; }
case "$1" in
  version) echo '{"Client":{"APIVersion":"4.3.1","Version":"4.3.1"}}' ;;
  image) echo '[{"Id":"1","Config":{"Env":["TESSERACT_NAME=heat"]}}]' ;;
  run)
    trap 'say "a signal in the middle of its set-up"; exit 1' TERM INT HUP
    say "is set up"
    sleep 0.5
    say "runs"
    touch ${folder}/runs
    while [ ! -e ${folder}/ended ]; do sleep 0.02; done
    say "has ended"
    exit 143 ;;
  kill)
    if [ ! -e ${folder}/runs ]; then echo "can only kill running containers" >&2; exit 125; fi
    [ -e ${folder}/$3 ] || say "is sent $3"
    touch ${folder}/$3
    if [ "$3" = KILL ] || [ ${whenAsked} = end ]; then touch ${folder}/ended; fi ;;
esac
`;
  await writeFile(engine, script);
  await chmod(engine, 0o755);
  return { engine, history: async () => (await readFile(history, "utf8")).trim().split("\n") };
}

/** Starts its container, and gives up as soon as it is being set up. */
async function abortedStart({ engine, history }: StandIn): Promise<void> {
  const controller = new AbortController();
  const started = failureOf(() => fromImage("heat", { engine: [engine], signal: controller.signal }));
  await expect.poll(() => history().catch(() => []), { timeout: 30_000 }).toContain("is set up");
  controller.abort();
  expect(await started).toEqual(tesseractError("ABORTED"));
}

test("a start that is given up isn't interrupted while the engine sets the container up", async () => {
  const podman = await standIn("end");
  await abortedStart(podman);
  expect(await podman.history()).toEqual(["is set up", "runs", "is sent TERM", "has ended"]);
});

test("a container that doesn't end is killed through the engine too", async () => {
  const podman = await standIn("nothing");
  await abortedStart(podman);
  expect(await podman.history()).toEqual(["is set up", "runs", "is sent TERM", "is sent KILL", "has ended"]);
});
