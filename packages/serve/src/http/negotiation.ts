/** Which encoding an answer gets: the request's Accept header against what the server offers. */
import type { Compression } from "@tesseract-ts/core";
import { Refusal } from "./refusal.js";

export interface Encoding {
  /** Such as `json+base64`. */
  readonly outputFormat: string;
  /** `none`, or a GPU transport's name. */
  readonly gpuTransport: string;
  readonly compression: Compression;
}

/** What a server can produce, and what a request gets that asks for nothing. */
export interface Offer {
  readonly outputFormats: readonly string[];
  readonly gpuTransports: readonly string[];
  readonly compressions: readonly Compression[];
  readonly outputFormat: string;
  readonly compression: Compression;
}

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/**
 * The first media range, by its `q`, that can be produced in full. What a range leaves out is the server's own choice, but
 * GPU arrays go through the host unless they are asked for.
 *
 * @returns the refusal (406) if there is none: it is told once the request has been found valid, as by the reference
 */
export function negotiate(accept: string | undefined, offer: Offer): Encoding | Refusal {
  const { outputFormat, compression } = offer;
  if (accept === undefined || accept === "") return { outputFormat, compression, gpuTransport: "none" };
  const ranges = accept
    .split(",")
    .filter((range) => range.trim() !== "")
    .map(mediaRange);
  // The sort is stable, so ranges of one quality keep their order.
  if (ranges.length > 1) ranges.sort((a, b) => quality(b) - quality(a));
  for (const range of ranges) {
    const encoding = offered(range, offer);
    if (encoding !== undefined) return encoding;
  }
  return new Refusal(406, {
    message: `Cannot produce any encoding accepted by ${pythonRepr(accept)}`,
    available_formats: offer.outputFormats,
    available_gpu_transports: offer.gpuTransports,
    available_compressions: offer.compressions,
  });
}

function offered({ type, parameters }: MediaRange, offer: Offer): Encoding | undefined {
  const any = type === "*/*" || type === "application/*";
  const outputFormat = any ? offer.outputFormat : type.slice(type.lastIndexOf("/") + 1);
  const gpuTransport = parameters.get("gpu_transport") ?? "none";
  const name = parameters.get("compression") ?? offer.compression;
  const compression = offer.compressions.find((candidate) => candidate === name);
  if (compression === undefined) return undefined;
  if (!offer.outputFormats.includes(outputFormat) || !offer.gpuTransports.includes(gpuTransport)) return undefined;
  return { outputFormat, gpuTransport, compression };
}

function mediaRange(text: string): MediaRange {
  const [type = "", ...rest] = text.split(";");
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const at = parameter.indexOf("=");
    if (at < 0) continue;
    const value = parameter.slice(at + 1).trim();
    parameters.set(parameter.slice(0, at).trim().toLowerCase(), value.replace(/^"+|"+$/g, ""));
  }
  return { type: type.trim().toLowerCase(), parameters };
}

function quality({ parameters }: MediaRange): number {
  const text = parameters.get("q");
  if (text === undefined) return 1;
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : 0;
}

/** How Python writes a string in a message. */
function pythonRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("\t", "\\t");
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}
