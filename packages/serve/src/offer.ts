/** What a server offers, of the transports that it was given. */
import {
  type DeviceTransport,
  type HostTransport,
  TesseractError,
  type Transport,
  type Transports,
} from "@tesseract-ts/core";
import { outputFormatOf } from "@tesseract-ts/core/message";
import type { FileTransport } from "@tesseract-ts/transport-host";
import type { Offer } from "./http/negotiation.js";
import type { Settings } from "./settings.js";

/** The reference's order; others follow. */
const knownFormats = ["json", "json+base64", "json+binref"];

export interface Offered {
  readonly offer: Offer;
  /** Those that can be used here. */
  readonly transports: readonly Transport[];
}

/**
 * A GPU transport that can't be used here is offered all the same, as by the reference: its check tells clients why, and they
 * go through the host. The process is warned.
 *
 * @throws TesseractError INVALID_ARGUMENT, TRANSPORT_MISSING
 */
export async function offerOf(given: Transports, settings: Settings): Promise<Offered> {
  const transports: Transport[] = [];
  for (const transport of given.flat()) {
    if (transports.some(({ name }) => name === transport.name)) {
      throw new TesseractError("INVALID_ARGUMENT", `Two transports are named "${transport.name}"`);
    }
    if (transport.carries === "host" && (await canServe(transport, settings))) transports.push(transport);
    if (transport.carries === "device" && transport.name === settings.gpuTransport) transports.push(transport);
  }
  const formats = transports.flatMap((transport) =>
    transport.carries === "host" && sends(transport) ? [outputFormatOf(transport)] : [],
  );
  const outputFormats = [
    ...knownFormats.filter((format) => formats.includes(format)),
    ...formats.filter((format) => !knownFormats.includes(format)),
  ];
  const { outputFormat, compression, gpuTransport } = settings;
  if (!outputFormats.includes(outputFormat)) {
    throw new TesseractError("TRANSPORT_MISSING", `No transport was passed for the output format "${outputFormat}"`, {
      hint: `There is one for each of ${outputFormats.join(", ") || "none"}. Pass another in \`transports\`, or set \`outputFormat\`.`,
    });
  }
  if (gpuTransport !== "none") await lookForDevice(transports, gpuTransport);
  const gpuTransports = gpuTransport === "none" ? ["none"] : ["none", gpuTransport];
  return {
    offer: { outputFormats, gpuTransports, compressions: ["none", "lz4"], outputFormat, compression },
    transports,
  };
}

async function lookForDevice(transports: readonly Transport[], name: string): Promise<void> {
  const transport = transports.find((candidate): candidate is DeviceTransport => candidate.carries === "device");
  if (transport === undefined) {
    throw new TesseractError("TRANSPORT_MISSING", `No transport was passed for gpuTransport "${name}"`, {
      hint: 'For "cuda_ipc": npm install @tesseract-ts/transport-cuda-ipc, and pass { transports: [cudaIpc(), host()] }.',
    });
  }
  const probe = await transport.probe();
  if (probe.ok) return;
  process.emitWarning(`The transport "${name}" can't be used by this server: ${probe.reason}`, {
    code: "TRANSPORT_UNUSABLE",
    ...(probe.hint === undefined ? {} : { detail: probe.hint }),
  });
}

/** A transport through files, at this server. */
export const isFileTransport = (transport: HostTransport): transport is FileTransport =>
  "atServer" in transport && typeof transport.atServer === "function";

/** For a run, where the transport writes files that belong to one. */
export const forRun = (
  transport: HostTransport,
  directories: { readonly inputPath: string; readonly outputPath: string; readonly folder: string },
): HostTransport => (isFileTransport(transport) ? transport.atServer(directories) : transport);

async function canServe(transport: HostTransport, { inputPath, outputPath }: Settings): Promise<boolean> {
  return (await forRun(transport, { inputPath, outputPath, folder: "run" }).probe()).ok;
}

const sends = (transport: HostTransport): boolean => isFileTransport(transport) || transport.sends !== false;
