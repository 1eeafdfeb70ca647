/** The files that this process has open, where the platform tells. */
import { readdirSync, readlinkSync } from "node:fs";

/** Descriptors of devices, pipes and sockets come and go with whatever runs the tests; files and memory are the transport's. */
const NOT_FILES =
  /^(pipe|socket|anon_inode):|^\/(dev\/(?!shm\/)|proc\/|sys\/)|\/node_modules\/|\.(js|ts|mjs|cjs|json|map|log)$/;

/** Each as `the open file PATH`; none where the platform doesn't tell. */
export function openFiles(): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fd").flatMap((descriptor) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${descriptor}`);
      return NOT_FILES.test(path) ? [] : [`the open file ${path}`];
    } catch {
      // It was the descriptor of this very listing, or was closed meanwhile.
      return [];
    }
  });
}
