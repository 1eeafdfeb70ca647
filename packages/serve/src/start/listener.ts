/** Whether it is really the server that was started that listens on its port. */
import { readdir, readFile, readlink } from "node:fs/promises";

/** `TCP_LISTEN` of Linux's include/net/tcp_states.h, as /proc/net/tcp writes it. */
const LISTENING = "0A";

/**
 * Between the choice of a port and the server's taking it, another program may have taken it, and answer in its place.
 *
 * @param group the server's process group
 * @returns undefined where it can't be known: only Linux tells
 */
export async function isListening(group: number, port: number): Promise<boolean | undefined> {
  if (process.platform !== "linux") return undefined;
  const tables = await Promise.all(
    ["tcp", "tcp6"].map((name) => readFile(`/proc/net/${name}`, "utf8").catch(() => "")),
  );
  const sockets = new Set(tables.flatMap((table) => listenersOf(table, port)));
  if (sockets.size === 0) return undefined;
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid) || (await groupOf(pid)) !== group) continue;
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const descriptor of descriptors) {
      const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => "");
      if (sockets.has(target)) return true;
    }
  }
  return false;
}

/** proc(5): the columns are sl, local_address, rem_address, st, …, and the tenth is the inode. */
function listenersOf(table: string, port: number): readonly string[] {
  return table.split("\n").flatMap((line) => {
    const columns = line.trim().split(/\s+/);
    const local = columns[1]?.split(":")[1];
    if (columns[3] !== LISTENING || local === undefined || Number.parseInt(local, 16) !== port) return [];
    return [`socket:[${columns[9]}]`];
  });
}

/** proc(5): after the name, which is in parentheses and may hold anything, come state, ppid and pgrp. */
async function groupOf(pid: string): Promise<number | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  const after = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return after[2] === undefined ? undefined : Number(after[2]);
}
