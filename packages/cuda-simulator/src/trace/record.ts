/** The lines of a trace. */
import { CudaSimulatorError, reasonOf } from "../errors.js";

/** Where a copy's bytes went: host to device, device to host, and so on. */
export type Direction = "HtoD" | "DtoH" | "DtoD" | "HtoH";
export const DIRECTIONS = ["HtoD", "DtoH", "DtoD", "HtoH"] as const satisfies readonly Direction[];

/** The addresses and handles that a call was about. */
const ADDRESSES = ["pointer", "destination", "source", "context", "stream", "event", "allocation"] as const;
export type AddressName = (typeof ADDRESSES)[number];

interface Line {
  /** When it was written, in nanoseconds since 1970. */
  readonly time: bigint;
  readonly pid: number;
  readonly tid: number;
}

/** A call, written when it returned. */
export interface CallRecord extends Line {
  readonly type: "call";
  /** A call of the runtime makes calls of the driver, which have lines of their own; bytes are in those. */
  readonly library: "driver" | "runtime";
  /** Without a version: `cuMemAlloc`. */
  readonly function: string;
  /** What it returned: 0, or a CUDA error. */
  readonly result: number;
  readonly bytes?: number;
  readonly direction?: Direction;
  /** Whether the copy, set, allocation or free is one of a stream's. */
  readonly async?: boolean;
  /** How long it took, in nanoseconds. */
  readonly duration?: number;
  readonly addresses: Readonly<Partial<Record<AddressName, bigint>>>;
}

/** A process joined the machine. */
export interface BeginRecord extends Line {
  readonly type: "begin";
  readonly machine: string;
  /** How many devices it sees. */
  readonly devices: number;
}

/** A process ended on its own; one that is killed leaves no such line. */
export interface EndRecord extends Line {
  readonly type: "end";
  readonly leaks: number;
  readonly leakedBytes: number;
}

/** Something that a process hadn't given back when it ended. */
export interface LeakRecord extends Line {
  readonly type: "leak";
  /** `"memory"`, `"ipc mapping"`, `"stream"`, `"event"`, … */
  readonly kind: string;
  readonly pointer: bigint;
  readonly bytes: number;
}

/** Something that CUDA leaves undefined, such as freeing memory that another process has mapped. */
export interface HazardRecord extends Line {
  readonly type: "hazard";
  readonly what: string;
  readonly allocation: number;
  readonly bytes: number;
}

/** A fault that was asked for ended the process. */
export interface FaultRecord extends Line {
  readonly type: "fault";
  readonly function: string;
  readonly effect: string;
}

/** Asynchronous work failed, and with it its context. */
export interface FailureRecord extends Line {
  readonly type: "failure";
  readonly context: bigint;
  readonly result: number;
}

export type TraceRecord =
  | CallRecord
  | BeginRecord
  | EndRecord
  | LeakRecord
  | HazardRecord
  | FaultRecord
  | FailureRecord;

/** The line's members, each read as what it has to be. Whatever is not is an error that names it. */
class Members {
  private constructor(
    private readonly line: string,
    private readonly members: Readonly<Record<string, unknown>>,
  ) {}

  static of(line: string): Members {
    const parsed: unknown = JSON.parse(line);
    if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new Error("it is no object");
    return new Members(line, parsed as Record<string, unknown>);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.members, name);
  }

  text(name: string): string {
    const value = this.members[name];
    if (!this.has(name) || typeof value !== "string") throw new Error(`its "${name}" is no text`);
    return value;
  }

  oneOf<Value extends string>(name: string, values: readonly Value[]): Value {
    const value = values.find((each) => each === this.text(name));
    if (value === undefined) throw new Error(`its "${name}" is none of ${values.join(", ")}`);
    return value;
  }

  count(name: string): number {
    const value = this.integer(name);
    if (value < 0) throw new Error(`its "${name}" is negative`);
    return value;
  }

  integer(name: string): number {
    const value = this.members[name];
    if (!this.has(name) || !Number.isInteger(value)) throw new Error(`its "${name}" is no whole number`);
    return Number(value);
  }

  truth(name: string): boolean {
    const value = this.members[name];
    if (typeof value !== "boolean") throw new Error(`its "${name}" is neither true nor false`);
    return value;
  }

  address(name: string): bigint {
    const text = this.text(name);
    if (!/^0x[0-9a-f]{1,16}$/.test(text)) throw new Error(`its "${name}" is no address`);
    return BigInt(text);
  }

  identifier(name: string): string {
    const text = this.text(name);
    if (!/^\w{1,128}$/.test(text)) throw new Error(`its "${name}" is no name`);
    return text;
  }

  /** Nanoseconds since 1970 are beyond what a JavaScript number keeps, so they are read from the line itself. */
  time(): bigint {
    const rounded = this.count("time");
    const digits = /"time"\s*:\s*(\d{1,20})(?![\d.eE])/.exec(this.line)?.[1];
    if (digits === undefined || Number(digits) !== rounded) throw new Error('its "time" is no whole number');
    return BigInt(digits);
  }
}

/**
 * A line of a trace; undefined if it is of a type that this version doesn't know.
 *
 * @throws CudaSimulatorError TRACE_MALFORMED, without saying where the line is
 */
export function parseTraceLine(line: string): TraceRecord | undefined {
  try {
    return recordOf(Members.of(line));
  } catch (error) {
    const start = line.length > 80 ? `${line.slice(0, 80)}…` : line;
    throw new CudaSimulatorError("TRACE_MALFORMED", `${reasonOf(error)}: ${JSON.stringify(start)}`, { cause: error });
  }
}

function recordOf(members: Members): TraceRecord | undefined {
  const line: Line = { time: members.time(), pid: members.count("pid"), tid: members.count("tid") };
  const type = members.text("type");
  switch (type) {
    case "call":
      return callOf(members, line);
    case "begin":
      return { type, ...line, machine: members.text("machine"), devices: members.count("devices") };
    case "end":
      return { type, ...line, leaks: members.count("leaks"), leakedBytes: members.count("leakedBytes") };
    case "leak":
      return {
        type,
        ...line,
        kind: members.text("kind"),
        pointer: members.address("pointer"),
        bytes: members.count("bytes"),
      };
    case "hazard": {
      const [allocation, bytes] = [members.count("allocation"), members.count("bytes")];
      return { type, ...line, what: members.text("what"), allocation, bytes };
    }
    case "fault":
      return { type, ...line, function: members.identifier("function"), effect: members.text("effect") };
    case "failure":
      return { type, ...line, context: members.address("context"), result: members.integer("result") };
    default:
      return undefined;
  }
}

function callOf(members: Members, line: Line): CallRecord {
  const addresses: Partial<Record<AddressName, bigint>> = {};
  for (const name of ADDRESSES) {
    if (members.has(name)) addresses[name] = members.address(name);
  }
  return {
    type: "call",
    ...line,
    library: members.oneOf("library", ["driver", "runtime"]),
    function: members.identifier("function"),
    result: members.integer("result"),
    ...(members.has("bytes") && { bytes: members.count("bytes") }),
    ...(members.has("direction") && { direction: members.oneOf("direction", DIRECTIONS) }),
    ...(members.has("async") && { async: members.truth("async") }),
    ...(members.has("duration") && { duration: members.count("duration") }),
    addresses,
  };
}
