/** What a machine holds, seen from outside: the status program joins nothing and changes nothing. */
import { execFile } from "node:child_process";
import { CudaSimulatorError, reasonOf } from "../errors.js";
import { statusProgram } from "../native/libraries.js";
import { VARIABLES } from "../settings/settings.js";
import { type MachineName, machines } from "./shared-memory.js";

export interface DeviceStatus {
  readonly index: number;
  /** `"GPU-"` and the UUID. */
  readonly uuid: string;
  /** What it has and what is in use, in bytes. */
  readonly memory: number;
  readonly used: number;
}

export interface AllocationStatus {
  readonly id: number;
  readonly device: number;
  readonly bytes: number;
  readonly kind: "plain" | "virtual" | "pool";
  /** The process whose memory it is. */
  readonly owner: number;
  /** The owner has freed it, and others still have it mapped. */
  readonly freed: boolean;
  /** The other processes that have it mapped. */
  readonly mappedBy: readonly number[];
}

export interface MachineStatus {
  /** False as long as no process has joined it, and when the last one has gone. */
  readonly running: boolean;
  /** What was done so far that CUDA leaves undefined. */
  readonly hazards: number;
  readonly devices: readonly DeviceStatus[];
  /** One that isn't alive was killed, and nobody has cleared up after it so far. */
  readonly processes: readonly { readonly pid: number; readonly alive: boolean }[];
  readonly allocations: readonly AllocationStatus[];
  /** How many interprocess events there are. */
  readonly events: number;
}

/** The program's exit status for a machine that isn't there. */
const NOT_RUNNING = 1;

const NOTHING: MachineStatus = { running: false, hazards: 0, devices: [], processes: [], allocations: [], events: 0 };

/** @throws CudaSimulatorError STATUS_FAILED */
export async function readStatus(libraries: string, { machine, host }: MachineName): Promise<MachineStatus> {
  const program = statusProgram(libraries);
  const env = { ...process.env, [VARIABLES.host]: host ?? "" };
  const answer = await new Promise<string | undefined>((done, fail) => {
    execFile(program, [machine], { env, timeout: 30_000, maxBuffer: 2 ** 28 }, (error, stdout, stderr) => {
      if (error === null) done(stdout);
      else if (error.code === NOT_RUNNING) done(undefined);
      else fail(failed(machine, stderr.trim() || reasonOf(error), error));
    });
  });
  if (answer === undefined) return NOTHING;
  try {
    return statusOf(JSON.parse(answer));
  } catch (error) {
    throw failed(machine, `${program} answered something else than a status`, error);
  }
}

/** Every host of a machine that a process is on. */
export async function aliveProcesses(libraries: string, machine: string): Promise<readonly number[]> {
  const hosts = machines().filter((each) => each.machine === machine);
  const states = await Promise.all(hosts.map((each) => readStatus(libraries, each)));
  return states.flatMap(({ processes }) => processes.filter(({ alive }) => alive).map(({ pid }) => pid));
}

function statusOf(answer: unknown): MachineStatus {
  const status = membersOf(answer);
  return {
    running: true,
    hazards: number(status.hazards),
    devices: list(status.devices).map((each) => {
      const { index, uuid, memory, used } = membersOf(each);
      return { index: number(index), uuid: String(uuid), memory: number(memory), used: number(used) };
    }),
    processes: list(status.processes).map((each) => {
      const { pid, alive } = membersOf(each);
      return { pid: number(pid), alive: alive === true };
    }),
    allocations: list(status.allocations).map((each) => {
      const { id, device, bytes, kind, owner, freed, mappedBy } = membersOf(each);
      if (kind !== "plain" && kind !== "virtual" && kind !== "pool")
        throw new Error(`no kind of memory: ${String(kind)}`);
      return {
        id: number(id),
        device: number(device),
        bytes: number(bytes),
        kind,
        owner: number(owner),
        freed: freed === true,
        mappedBy: list(mappedBy).map(number),
      };
    }),
    events: number(status.events),
  };
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) throw new Error("no object");
  return value as Readonly<Record<string, unknown>>;
}

function list(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error("no list");
  return value;
}

function number(value: unknown): number {
  if (typeof value !== "number") throw new Error("no number");
  return value;
}

function failed(machine: string, why: string, cause: unknown): CudaSimulatorError {
  return new CudaSimulatorError("STATUS_FAILED", `The state of the machine ${machine} can't be read: ${why}`, {
    hint: "The libraries and the status program must be of the same build: run `npx cuda-simulator build`.",
    cause,
  });
}
