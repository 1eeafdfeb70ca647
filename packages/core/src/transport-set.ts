/** The transports that a client was given, in order of preference. */
import { mayLease, type RequestedEncoding, type ServerCapabilities, unadvertisedFormats } from "./encoding.js";
import { TesseractError } from "./errors.js";
import {
  type AnnouncedArray,
  type BufferSink,
  type Compression,
  type DeviceTransport,
  type Headers,
  type HostTransport,
  outputFormatOf,
  type Peer,
  type ProbeResult,
  type Session,
  type Transport,
  type Transports,
} from "./transport.js";

type OpenBuffer = (array: AnnouncedArray, atMost: number | undefined) => BufferSink | undefined;

export class TransportSet {
  readonly list: readonly Transport[];
  private readonly probes = new Map<Transport, Promise<ProbeResult>>();
  private readonly sessions: Session[] = [];

  /**
   * @param peer whom the messages are for; transports that keep something from one to the next do so then
   * @throws TesseractError INVALID_ARGUMENT
   */
  constructor(transports: Transports, peer?: Peer) {
    this.list = transports.flat().map((transport) => {
      const connected = peer === undefined ? undefined : transport.connect?.(peer);
      if (connected === undefined) return transport;
      this.sessions.push(connected);
      return connected;
    });
    if (!this.list.some(({ carries }) => carries === "host")) {
      throw new TesseractError("INVALID_ARGUMENT", "No transport was given that carries arrays in the host's memory", {
        hint: "npm install @tesseract-ts/transport-host, import { host } from it, and pass { transports: [host()] }.",
      });
    }
    const names = new Set<string>();
    for (const { name } of this.list) {
      if (names.has(name)) throw new TesseractError("INVALID_ARGUMENT", `Two transports are named "${name}"`);
      names.add(name);
    }
  }

  /**
   * The output format of the first transport that this process can use and the server offers.
   *
   * @throws TesseractError ENCODING_UNAVAILABLE
   */
  async preferredFormat({ outputFormats = unadvertisedFormats }: ServerCapabilities): Promise<string> {
    const unusable: string[] = [];
    for (const transport of this.hosts()) {
      if (!outputFormats.includes(outputFormatOf(transport))) continue;
      const probe = await this.probe(transport);
      if (probe.ok) return outputFormatOf(transport);
      unusable.push(`${transport.name}: ${probe.reason}`);
    }
    throw new TesseractError("ENCODING_UNAVAILABLE", "The server offers no output format that can be used from here", {
      hint:
        `It offers ${outputFormats.join(", ")}; transports were passed for ${this.hosts().map(outputFormatOf).join(", ")}` +
        `${unusable.length === 0 ? "" : ` (${unusable.join("; ")})`}.`,
    });
  }

  /** @throws TesseractError TRANSPORT_MISSING */
  check({ outputFormat, gpuTransport }: RequestedEncoding): void {
    if (outputFormat !== undefined) this.hostFor(outputFormat);
    if (gpuTransport !== undefined) this.deviceFor(gpuTransport);
  }

  /**
   * The transports that carry a request's arrays.
   *
   * @throws TesseractError TRANSPORT_MISSING, TRANSPORT_UNUSABLE
   */
  async plan(
    { outputFormat, gpuTransport, compression }: RequestedEncoding,
    { compressions }: ServerCapabilities,
  ): Promise<{
    readonly host: HostTransport;
    readonly device: DeviceTransport | undefined;
    readonly compression: Compression;
  }> {
    const chosen = outputFormat === undefined ? undefined : this.hostFor(outputFormat);
    const device = gpuTransport === undefined ? undefined : this.deviceFor(gpuTransport);
    if (chosen !== undefined) await this.require(chosen);
    if (device !== undefined) await this.require(device);
    const host = chosen?.sends === false ? this.hosts().find(({ sends }) => sends !== false) : chosen;
    if (host === undefined) {
      throw new TesseractError(
        "TRANSPORT_UNUSABLE",
        `No transport can send arrays for the output format "${outputFormat}"`,
        {
          hint: "Pass one more transport that can, such as base64().",
        },
      );
    }
    // Only a server that says so is known to take compressed buffers.
    const compressed = compression !== undefined && compressions?.includes(compression) === true;
    return { host, device, compression: compressed ? compression : "none" };
  }

  /** What the transports have to say to the peer, for the next message. */
  headers(): Record<string, string> {
    return Object.assign({}, ...this.sessions.map((session) => session.headers?.()));
  }

  async receive(headers: Headers): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.receive?.(headers)));
  }

  async takeLeave(): Promise<void> {
    await Promise.all(this.sessions.map((session) => session.takeLeave?.()));
  }

  async close(): Promise<void> {
    await Promise.all(this.sessions.splice(0).map((session) => session.close()));
  }

  /** How the `buffer` strings of an answer in `format` are taken as they arrive. */
  bufferSinkFor(format: string): OpenBuffer | undefined {
    const transport = this.hosts().find((candidate) => outputFormatOf(candidate) === format);
    return transport?.openBuffer?.bind(transport);
  }

  /** Whether one of them may lease what its messages refer to, or GPU memory. */
  get mayLease(): boolean {
    return this.devices().length > 0 || this.hosts().some((transport) => mayLease(outputFormatOf(transport)));
  }

  devices(): readonly DeviceTransport[] {
    return this.list.filter((transport) => transport.carries === "device");
  }

  /** @throws TesseractError TRANSPORT_MISSING */
  device(name: string): DeviceTransport {
    const transport = this.devices().find((candidate) => candidate.name === name);
    if (transport !== undefined) return transport;
    throw missing(`gpuTransport "${name}"`, ["none", ...this.devices().map((known) => known.name)]);
  }

  private hosts(): readonly HostTransport[] {
    return this.list.filter((transport) => transport.carries === "host");
  }

  private hostFor(outputFormat: string): HostTransport {
    const transport = this.hosts().find((candidate) => outputFormatOf(candidate) === outputFormat);
    if (transport !== undefined) return transport;
    throw missing(`outputFormat "${outputFormat}"`, this.hosts().map(outputFormatOf));
  }

  private deviceFor(gpuTransport: string): DeviceTransport | undefined {
    return gpuTransport === "none" ? undefined : this.device(gpuTransport);
  }

  private async require(transport: Transport): Promise<void> {
    const probe = await this.probe(transport);
    if (probe.ok) return;
    throw new TesseractError("TRANSPORT_UNUSABLE", `The transport "${transport.name}" can't be used: ${probe.reason}`, {
      hint: probe.hint,
    });
  }

  probe(transport: Transport): Promise<ProbeResult> {
    const known = this.probes.get(transport);
    if (known !== undefined) return known;
    const probe = transport.probe();
    this.probes.set(transport, probe);
    return probe;
  }
}

const missing = (what: string, available: readonly string[]): TesseractError =>
  new TesseractError("TRANSPORT_MISSING", `No transport was passed for ${what}`, {
    hint: `There is one for each of ${available.join(", ")}. Pass another in \`transports\`.`,
  });
