/**
 * A machine's files in shared memory: a control segment `cuda-simulator.<user>.<machine>`, with `+<host>` for each
 * simulated host, and beside it `.<number>` for each allocation.
 */
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** The simulator's setting, for a folder that is smaller or larger than the usual one. */
const folder = (): string => process.env.CUDA_SIMULATOR_SHM || "/dev/shm";

const prefix = (): string => `cuda-simulator.${process.geteuid?.() ?? 0}.`;

const filesOfUser = (): readonly string[] => {
  try {
    return readdirSync(folder()).filter((name) => name.startsWith(prefix()));
  } catch {
    return []; // no such folder: no machines
  }
};

/** The files of a machine and of all its hosts, as paths. */
export function filesOf(machine: string): readonly string[] {
  const start = prefix() + machine;
  const own = filesOfUser().filter((name) => name.startsWith(start) && /^(?:[.+]|$)/.test(name.slice(start.length)));
  return own.map((name) => join(folder(), name));
}

export interface MachineName {
  readonly machine: string;
  readonly host: string | undefined;
}

/** Every machine of this user, host by host, whether it is in use or left over. */
export function machines(): readonly MachineName[] {
  const segments = filesOfUser().map((name) => name.slice(prefix().length));
  return segments
    .filter((name) => !name.includes("."))
    .map((name) => {
      const [machine = "", host] = name.split("+");
      return { machine, host };
    });
}

/** Removes a machine's files. Only for one that no process uses any longer. */
export function removeFilesOf(machine: string): void {
  for (const file of filesOf(machine)) rmSync(file, { force: true });
}
