/** What a client asks of a server's encodings, what the server offers, and how the two are brought together. */
import { TesseractError } from "./errors.js";
import type { Compression } from "./transport.js";

/** The encodings that a server advertises in its OpenAPI document; undefined where it advertises none. */
export interface ServerCapabilities {
  /** Formats for arrays in the host's memory, such as `json+base64`. Runtimes before 1.13 advertise none. */
  readonly outputFormats: readonly string[] | undefined;
  /** How GPU arrays may cross; `none` goes through the host. Runtimes before 1.15 advertise none. */
  readonly gpuTransports: readonly string[] | undefined;
  /** Compressions of buffers. Runtimes before 1.15 advertise none. */
  readonly compressions: readonly string[] | undefined;
}

/** What every runtime has, and those before 1.13 don't advertise. */
export const unadvertisedFormats: readonly string[] = ["json", "json+base64", "json+binref"];

/**
 * Whether only peers of this project can speak `outputFormat`: its transport is someone's own, and may lease what a message
 * refers to until the other side has read it.
 */
export const mayLease = (outputFormat: string | undefined): boolean =>
  outputFormat !== undefined && !unadvertisedFormats.includes(outputFormat);

/** What calls ask for. A field that is undefined is left to the client's transports or the server's settings. */
export interface RequestedEncoding {
  readonly outputFormat?: string | undefined;
  readonly gpuTransport?: string | undefined;
  readonly compression?: Compression | undefined;
}

/** Reads a list of names from a server's OpenAPI document. */
export function capabilitiesOf(openapi: Readonly<Record<string, unknown>>): ServerCapabilities {
  const names = (key: string): readonly string[] | undefined => {
    const value = openapi[key];
    return Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : undefined;
  };
  return {
    outputFormats: names("x-supported-output-formats"),
    gpuTransports: names("x-supported-gpu-transports"),
    compressions: names("x-supported-compressions"),
  };
}

/** `requested` over `base`: fields that are undefined keep the base's. */
export const mergeEncodings = (base: RequestedEncoding, requested: RequestedEncoding): RequestedEncoding => ({
  outputFormat: requested.outputFormat ?? base.outputFormat,
  gpuTransport: requested.gpuTransport ?? base.gpuTransport,
  compression: requested.compression ?? base.compression,
});

/**
 * Checks a request against what the server advertises, before any work is done.
 *
 * @returns what to ask for, less what an old runtime couldn't parse but does anyway
 * @throws TesseractError ENCODING_UNAVAILABLE, RUNTIME_TOO_OLD
 */
export function fitToServer(requested: RequestedEncoding, offered: ServerCapabilities): RequestedEncoding {
  if (offered.outputFormats === undefined) return fitToOldServer(requested);
  const { gpuTransport } = requested;
  if (offered.gpuTransports === undefined && gpuTransport !== undefined && gpuTransport !== "none") {
    throw new TesseractError(
      "RUNTIME_TOO_OLD",
      `This Tesseract's runtime (1.13 or 1.14) numbers GPUs by ordinal, so gpuTransport "${gpuTransport}" can't be used`,
      { hint: 'Rebuild the Tesseract with runtime 1.15 or newer, or ask for gpuTransport "none".' },
    );
  }
  requireOffered("outputFormat", requested.outputFormat, offered.outputFormats);
  requireOffered("gpuTransport", gpuTransport, offered.gpuTransports);
  requireOffered("compression", requested.compression, offered.compressions);
  return requested;
}

/**
 * Runtimes before 1.13 read the whole Accept header as one word, so a parameter or an unknown format fails after the
 * endpoint has run.
 */
function fitToOldServer(requested: RequestedEncoding): RequestedEncoding {
  const { gpuTransport, compression } = requested;
  if (compression !== undefined || (gpuTransport !== undefined && gpuTransport !== "none")) {
    const name = compression === undefined ? `gpuTransport "${gpuTransport}"` : `compression "${compression}"`;
    throw new TesseractError(
      "RUNTIME_TOO_OLD",
      `This Tesseract's runtime is older than 1.13 and can't be asked for ${name}`,
      {
        hint: "Rebuild the Tesseract with a newer runtime, or leave the option out.",
      },
    );
  }
  requireOffered("outputFormat", requested.outputFormat, unadvertisedFormats);
  return { outputFormat: requested.outputFormat };
}

function requireOffered(option: string, value: string | undefined, offered: readonly string[] | undefined): void {
  if (value === undefined || offered === undefined || offered.includes(value)) return;
  throw new TesseractError("ENCODING_UNAVAILABLE", `This Tesseract doesn't offer ${option} "${value}"`, {
    hint: `It offers ${offered.map((name) => `"${name}"`).join(", ")}.`,
  });
}

/** The Accept header for a request (RFC 9110, section 12.5.1; the parameters are the reference's). */
export function acceptHeader({ outputFormat, gpuTransport, compression }: RequestedEncoding): string {
  let accept = `application/${outputFormat ?? "*"}`;
  if (gpuTransport !== undefined) accept += `; gpu_transport=${gpuTransport}`;
  if (compression !== undefined) accept += `; compression=${compression}`;
  return accept;
}
