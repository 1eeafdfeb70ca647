/** Finds out which transport a call's GPU arrays can use, by exchanging a small array with the server. */
import type { CallOptions } from "./backend.js";
import type { RequestedEncoding, ServerCapabilities } from "./encoding.js";
import { TesseractError, type TesseractWarning } from "./errors.js";
import type { DeviceTransport } from "./transport.js";
import type { TransportSet } from "./transport-set.js";

/** What is known of the ways that GPU arrays can take, as data. */
export interface GpuTransportExplanation {
  /** The `gpuTransport` that is asked for, if any. */
  readonly requested: string | undefined;
  /** What the server advertises; undefined where it advertises nothing, or in process. */
  readonly offered: readonly string[] | undefined;
  /** What calls use: a transport's name, or `none`. Undefined where what is requested can't be used. */
  readonly resolved: string | undefined;
  /** One for each transport that could carry GPU arrays, in order of preference. */
  readonly checks: readonly GpuTransportCheck[];
}

export interface GpuTransportCheck {
  readonly transport: string;
  /**
   * `ok`: a small array went both ways; `not_offered`: the server doesn't have it; `unusable`: this process can't use
   * it; `failed`: the two sides can't exchange arrays by it.
   */
  readonly outcome: "ok" | "not_offered" | "unusable" | "failed";
  readonly reason?: string;
  /** What to do about it. */
  readonly hint?: string;
}

/** What a check found: kept, good or bad. What the server answers with an error is thrown instead, and not kept. */
export type CheckOutcome =
  | { readonly outcome: "ok" }
  | { readonly outcome: "unusable" | "failed"; readonly reason: string; readonly hint?: string };

export interface GpuTransportsOptions {
  /** For messages: `http://localhost:8000`. */
  readonly origin: string;
  readonly transports: TransportSet;
  readonly capabilities: ServerCapabilities;
  readonly warn: (warning: TesseractWarning) => void;
  /** @throws TesseractError ENCODING_UNAVAILABLE, RUNTIME_TOO_OLD, TRANSPORT_MISSING */
  checkEncoding(requested: RequestedEncoding): void;
  /** Waits for `work` as long as the call may take. */
  within<T>(call: CallOptions, what: string, work: Promise<T>): Promise<T>;
  /** Exchanges the check's arrays with the server. */
  readonly check: (transport: DeviceTransport) => Promise<CheckOutcome>;
}

export class GpuTransports {
  private readonly checks = new Map<DeviceTransport, Promise<CheckOutcome>>();
  private readonly warned = new Set<DeviceTransport>();

  constructor(private readonly options: GpuTransportsOptions) {}

  /**
   * @param requested a transport's name, where one is asked for
   * @throws TesseractError ENCODING_UNAVAILABLE, RUNTIME_TOO_OLD, TRANSPORT_MISSING, TRANSPORT_UNUSABLE; what a call
   *   may throw, where the check is answered with an error
   */
  async resolve(requested: string | undefined, call: CallOptions): Promise<string> {
    if (requested !== undefined) {
      const found = await this.check(this.required(requested), call);
      if (found.outcome === "ok") return requested;
      throw new TesseractError(
        "TRANSPORT_UNUSABLE",
        `gpuTransport "${requested}" doesn't work between this process and ${this.options.origin}: ${found.reason}`,
        { hint: joined(found.hint, 'Ask for gpuTransport "none" to copy GPU arrays through the host.') },
      );
    }
    for (const transport of this.offered()) {
      const found = await this.check(transport, call);
      if (found.outcome === "ok") return transport.name;
      this.warnOnce(transport, found);
    }
    return "none";
  }

  async explain(requested: string | undefined, call: CallOptions): Promise<GpuTransportExplanation> {
    const checks: GpuTransportCheck[] = [];
    const offered = this.options.capabilities.gpuTransports;
    for (const transport of this.options.transports.devices()) checks.push(await this.explainOne(transport, call));
    const works = (name: string): boolean =>
      checks.some(({ transport, outcome }) => transport === name && outcome === "ok");
    const resolved =
      requested === undefined
        ? (checks.find(({ outcome }) => outcome === "ok")?.transport ?? "none")
        : requested === "none" || works(requested)
          ? requested
          : undefined;
    return { requested, offered, resolved, checks };
  }

  private async explainOne(transport: DeviceTransport, call: CallOptions): Promise<GpuTransportCheck> {
    const { name } = transport;
    const { gpuTransports } = this.options.capabilities;
    try {
      this.required(name);
    } catch (error) {
      if (!(error instanceof TesseractError)) throw error;
      const hint = gpuTransports?.includes(name) === false ? servedWith(name) : error.hint;
      return {
        transport: name,
        outcome: "not_offered",
        reason: error.message,
        ...(hint === undefined ? {} : { hint }),
      };
    }
    try {
      return { transport: name, ...(await this.check(transport, call)) };
    } catch (error) {
      if (!(error instanceof TesseractError) || endedByCaller.has(error.code)) throw error;
      const { hint } = error;
      return { transport: name, outcome: "failed", reason: error.message, ...(hint === undefined ? {} : { hint }) };
    }
  }

  private required(name: string): DeviceTransport {
    this.options.checkEncoding({ gpuTransport: name });
    return this.options.transports.device(name);
  }

  private offered(): readonly DeviceTransport[] {
    const { gpuTransports = [] } = this.options.capabilities;
    return this.options.transports.devices().filter(({ name }) => gpuTransports.includes(name));
  }

  /** First calls that come at once share one check; a caller who gives up waiting doesn't end it for the others. */
  private check(transport: DeviceTransport, call: CallOptions): Promise<CheckOutcome> {
    let running = this.checks.get(transport);
    if (running === undefined) {
      running = this.options.check(transport);
      this.checks.set(transport, running);
      running.catch(() => this.checks.delete(transport));
    }
    return this.options.within(call, `The check of "${transport.name}"`, running);
  }

  private warnOnce(transport: DeviceTransport, { reason, hint }: { reason: string; hint?: string }): void {
    if (this.warned.has(transport)) return;
    this.warned.add(transport);
    this.options.warn({
      code: "GPU_TRANSPORT_UNUSABLE",
      message:
        `The Tesseract at ${this.options.origin} offers gpuTransport "${transport.name}", but it doesn't work from this ` +
        `process, so GPU arrays are copied through the host: ${reason}`,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

const endedByCaller: ReadonlySet<string> = new Set(["ABORTED", "TIMEOUT", "CLOSED", "INVALID_ARGUMENT"]);

const servedWith = (name: string): string =>
  `Serve the Tesseract with gpuTransport "${name}" (TESSERACT_GPU_TRANSPORT=${name}).`;

const joined = (...sentences: readonly (string | undefined)[]): string =>
  sentences.filter((sentence) => sentence !== undefined).join(" ");
