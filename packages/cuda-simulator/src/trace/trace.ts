/** What a test asks a trace. */
import type {
  CallRecord,
  Direction,
  FailureRecord,
  FaultRecord,
  HazardRecord,
  LeakRecord,
  TraceRecord,
} from "./record.js";
import { summarize, type TraceSummary } from "./summary.js";

export interface TraceFilter {
  /** A name without a version, in which `*` stands for any letters, or an expression. Only calls and faults have one. */
  readonly function?: string | RegExp;
  readonly pid?: number;
  readonly library?: CallRecord["library"];
  /** Calls that returned an error, or those that didn't. */
  readonly failed?: boolean;
}

export class Trace {
  private counted: TraceSummary | undefined;

  /** @param records in the order in which they were written */
  constructor(readonly records: readonly TraceRecord[]) {}

  get calls(): readonly CallRecord[] {
    return this.of("call");
  }

  /** How many calls copied bytes from a device to the host, or queued such a copy. */
  get copiesToHost(): number {
    return this.summary.copies.DtoH.count;
  }

  /** Bytes copied, by direction. */
  get bytes(): Readonly<Record<Direction, number>> {
    const { HtoD, DtoH, DtoD, HtoH } = this.summary.copies;
    return { HtoD: HtoD.bytes, DtoH: DtoH.bytes, DtoD: DtoD.bytes, HtoH: HtoH.bytes };
  }

  /** What CUDA leaves undefined and was done all the same. */
  get hazards(): readonly HazardRecord[] {
    return this.of("hazard");
  }

  /** What processes hadn't given back when they ended; one that was killed says nothing. */
  get leaks(): readonly LeakRecord[] {
    return this.of("leak");
  }

  /** Faults that ended a process. */
  get faults(): readonly FaultRecord[] {
    return this.of("fault");
  }

  /** Contexts whose asynchronous work failed. */
  get failures(): readonly FailureRecord[] {
    return this.of("failure");
  }

  /** Every process that wrote a line. */
  get pids(): readonly number[] {
    return [...this.summary.processes];
  }

  /** Counts by function and more. */
  get summary(): TraceSummary {
    this.counted ??= summarize(this.records);
    return this.counted;
  }

  /**
   * The part of the trace that fits.
   *
   * ```ts
   * cuda.trace.filter({ function: "cuIpc*", failed: true }).calls;
   * ```
   */
  filter({ function: name, pid, library, failed }: TraceFilter): Trace {
    const pattern = name === undefined ? undefined : expressionOf(name);
    const fits = (record: TraceRecord): boolean => {
      if (pid !== undefined && record.pid !== pid) return false;
      if (pattern !== undefined && !("function" in record && pattern.test(record.function))) return false;
      if (library === undefined && failed === undefined) return true;
      if (record.type !== "call" || (library !== undefined && record.library !== library)) return false;
      return failed === undefined || failed === (record.result !== 0);
    };
    return new Trace(this.records.filter(fits));
  }

  private of<Type extends TraceRecord["type"]>(type: Type): readonly Extract<TraceRecord, { type: Type }>[] {
    return this.records.filter((record): record is Extract<TraceRecord, { type: Type }> => record.type === type);
  }
}

function expressionOf(name: string | RegExp): RegExp {
  // Without the flags that make an expression remember where it stopped.
  if (name instanceof RegExp) return new RegExp(name.source, name.flags.replace(/[gy]/g, ""));
  const parts = name.split("*").map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`);
}
