// What is left of processes that were started: those that have a variable of the test's in their environment.
import { existsSync, readdirSync, readFileSync } from "node:fs";

export const MARK = "TESSERACT_TS_TEST_MARK";

/** The ids of processes that aren't zombies; on Linux only. */
export function processesMarked(mark: string): readonly number[] {
  if (!existsSync("/proc/self/environ")) return [];
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name) || Number(name) === process.pid) return [];
    return read(`/proc/${name}/environ`).split("\0").includes(`${MARK}=${mark}`) ? [Number(name)] : [];
  });
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) Z /.test(read(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It has ended.
    return "";
  }
}
