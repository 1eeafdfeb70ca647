/** What can be asked of a simulated machine and of a process on it, as environment variables. */
import { delimiter } from "node:path";
import { type Fault, faultsText } from "./faults.js";
import { type Duration, durationText, invalid, nanoseconds, type Size, sizeText } from "./quantities.js";

/** How long queued work waits before it starts, unless something waits for it. */
export type Delay = Duration | { readonly least: Duration; readonly most: Duration };

/** What is the same for all processes of a machine. */
export interface MachineSettings {
  /** 1 to 16; 1 if left out. */
  readonly devices?: number | undefined;
  /** Of each device: `"1GiB"` or bytes; 1 GiB if left out. It is taken from /dev/shm as it is allocated. */
  readonly memory?: Size | undefined;
  /** Devices can access each other's memory; they can't if left out. */
  readonly peers?: boolean | undefined;
}

/** What each process may have otherwise. */
export interface ProcessSettings {
  /**
   * How long after it was queued asynchronous work starts, unless something waits for it sooner: a time, `"1ms..20ms"` for
   * random ones, or `"lazy"` for work that starts only when something waits for it. `"1ms"` if left out.
   */
  readonly delay?: Delay | undefined;
  /** Of the random delays: the same seed gives the same ones. */
  readonly seed?: number | bigint | undefined;
  /** What CUDA leaves undefined is an error, not just a hazard in the trace. */
  readonly strict?: boolean | undefined;
  /** Leaks go to stderr when the process ends; they are in the trace in any case. */
  readonly leaks?: boolean | undefined;
  readonly faults?: readonly Fault[] | undefined;
  /** A name: processes with different ones are on different simulated hosts, which share no memory. */
  readonly host?: string | undefined;
  /** A name: processes with different ones can't open each other's IPC handles. */
  readonly pidNamespace?: string | undefined;
  /** `CUDA_VISIBLE_DEVICES`: ordinals or UUIDs, in the order in which the process sees them. All if left out. */
  readonly visibleDevices?: string | readonly (number | string)[] | undefined;
}

/** Every environment variable of the simulator that the wrapper and the command know. */
export const VARIABLES = {
  machine: "CUDA_SIMULATOR_MACHINE",
  devices: "CUDA_SIMULATOR_DEVICES",
  memory: "CUDA_SIMULATOR_MEMORY",
  peers: "CUDA_SIMULATOR_PEERS",
  delay: "CUDA_SIMULATOR_DELAY",
  seed: "CUDA_SIMULATOR_SEED",
  strict: "CUDA_SIMULATOR_STRICT",
  leaks: "CUDA_SIMULATOR_LEAKS",
  faults: "CUDA_SIMULATOR_FAULTS",
  host: "CUDA_SIMULATOR_HOST",
  pidNamespace: "CUDA_SIMULATOR_PID_NAMESPACE",
  trace: "CUDA_SIMULATOR_TRACE",
  visibleDevices: "CUDA_VISIBLE_DEVICES",
} as const;

export type Variables = Readonly<Record<string, string>>;

/**
 * The variables of what is set; what is left out isn't among them.
 *
 * @throws CudaSimulatorError INVALID_OPTION
 */
export function variablesOf(settings: MachineSettings & ProcessSettings): Variables {
  const { devices, memory, delay, seed, faults, visibleDevices } = settings;
  const variables: Record<string, string> = {};
  if (devices !== undefined) variables[VARIABLES.devices] = devicesText(devices);
  if (memory !== undefined) variables[VARIABLES.memory] = sizeText(memory, "memory");
  if (delay !== undefined) variables[VARIABLES.delay] = delayText(delay);
  if (seed !== undefined) variables[VARIABLES.seed] = seedText(seed);
  if (faults !== undefined) variables[VARIABLES.faults] = faultsText(faults);
  if (visibleDevices !== undefined) variables[VARIABLES.visibleDevices] = visibleText(visibleDevices);
  for (const name of ["peers", "strict", "leaks"] as const) {
    const value = settings[name];
    if (value !== undefined) variables[VARIABLES[name]] = value ? "1" : "0";
  }
  for (const name of ["host", "pidNamespace"] as const) {
    const value = settings[name];
    if (value !== undefined) variables[VARIABLES[name]] = nameText(value, name);
  }
  return variables;
}

/** Every variable of the simulator as if it weren't set, so that one from outside can't reach into a machine. */
export function unsetVariables(devices: number | undefined): Variables {
  const none = Object.fromEntries(Object.values(VARIABLES).map((name) => [name, ""]));
  // An empty list would be no device at all.
  const all = Array.from({ length: devices ?? 1 }, (_, device) => device).join(",");
  return { ...none, [VARIABLES.visibleDevices]: all };
}

/** `LD_LIBRARY_PATH` with the simulator's folder before whatever is there. */
export function libraryPath(folder: string, before: string | undefined): string {
  return before === undefined || before === "" ? folder : `${folder}${delimiter}${before}`;
}

/** A name of a machine, host or namespace: it becomes part of a file's name. */
export function nameText(name: string, what: string): string {
  if (!/^[A-Za-z0-9_-]{1,48}$/.test(name)) throw invalid(what, name, "1 to 48 letters, digits, '-' and '_'");
  return name;
}

function devicesText(devices: number): string {
  if (!Number.isInteger(devices) || devices < 1 || devices > 16) {
    throw invalid("devices", devices, "a whole number from 1 to 16");
  }
  return String(devices);
}

function seedText(seed: number | bigint): string {
  const fits = typeof seed === "bigint" ? seed >= 0n && seed < 2n ** 64n : Number.isSafeInteger(seed) && seed >= 0;
  if (!fits) throw invalid("seed", seed, "a whole number from 0 on, of at most 64 bits");
  return String(seed);
}

function delayText(delay: Delay): string {
  if (delay === "lazy") return delay;
  const range = typeof delay === "object" ? [delay.least, delay.most] : ends(delay);
  const texts = range.map((end) => durationText(end, "delay"));
  const [least = 0, most = least] = texts.map((text) => nanoseconds(text) ?? 0);
  if (most < least) throw invalid("delay", texts.join(".."), "a range from a shorter to a longer time");
  return texts.join("..");
}

function ends(delay: Duration): readonly Duration[] {
  const range = typeof delay === "string" ? delay.split("..") : [];
  return range.length === 2 ? range : [delay];
}

function visibleText(visible: string | readonly (number | string)[]): string {
  const text = typeof visible === "string" ? visible : visible.join(",");
  if (text.includes("\0")) throw invalid("visibleDevices", text, "a list of ordinals and UUIDs");
  return text;
}
