/** The check that a GPU transport works between this process and a server: `POST /check_gpu_transport`. */
import { TesseractError } from "./errors.js";
import { type CheckOutcome, GpuTransports, type GpuTransportsOptions } from "./gpu-transport.js";
import { randomBytes } from "./random.js";
import type { DeviceTransport, EncodedMessage, ReceivedArray } from "./transport.js";

/** Bytes that each side exports. */
const CHECK_BYTES = 256;

export interface CheckOptions extends Omit<GpuTransportsOptions, "check"> {
  /**
   * Sends what a transport made of the check's array.
   *
   * @param expected the array's bytes in base64
   */
  send(
    transport: DeviceTransport,
    message: EncodedMessage,
    expected: string,
  ): Promise<{ readonly tree: unknown; readonly exports: readonly string[] }>;
  /**
   * The encoded array that stands at `path` of the answer, or undefined if it is none.
   *
   * @throws TesseractError DECODE_FAILED, UNSUPPORTED_DTYPE
   */
  received(value: unknown, path: string): ReceivedArray | undefined;
  acknowledge(exports: readonly string[]): void;
}

/** The GPU transports of a connection, which `options` exchanges the checks by. */
export const gpuTransportsOver = (options: CheckOptions): GpuTransports =>
  new GpuTransports({ ...options, check: (transport) => checkOverHttp(transport, options) });

/** @throws TesseractError where the server answers with an error, which says nothing about the transport */
async function checkOverHttp(transport: DeviceTransport, options: CheckOptions): Promise<CheckOutcome> {
  const probe = await options.transports.probe(transport);
  if (!probe.ok) return { outcome: "unusable", reason: probe.reason, ...hinted(probe.hint) };
  const bytes = randomBytes(CHECK_BYTES);
  const never = new AbortController().signal;
  let message: EncodedMessage;
  try {
    message = await transport.encodeCheck(bytes, { signal: never });
  } catch (error) {
    return failure("this process could not export an array", error);
  }
  const { tree, exports } = await options.send(transport, message, btoa(String.fromCharCode(...bytes)));
  try {
    return await judge(transport, tree, bytes.slice().reverse(), options);
  } finally {
    options.acknowledge(exports);
  }
}

async function judge(
  transport: DeviceTransport,
  tree: unknown,
  expected: Uint8Array,
  { received }: CheckOptions,
): Promise<CheckOutcome> {
  const answer = typeof tree === "object" && tree !== null ? (tree as Readonly<Record<string, unknown>>) : {};
  if (answer.ok === false) {
    const reason = typeof answer.reason === "string" ? answer.reason : "the server gave no reason";
    return { outcome: "failed", reason };
  }
  const array = answer.ok === true ? received(answer.array, "array") : undefined;
  if (array === undefined) {
    throw new TesseractError("MALFORMED_RESPONSE", "The answer to the check of a GPU transport isn't one");
  }
  let found: Uint8Array;
  try {
    found = await transport.decodeCheck(array, {});
  } catch (error) {
    return failure("this process could not read the server's array", error);
  }
  if (found.length === expected.length && found.every((byte, index) => byte === expected[index])) {
    return { outcome: "ok" };
  }
  return { outcome: "failed", reason: "the array that the server exported has other bytes than the server said" };
}

function failure(what: string, error: unknown): CheckOutcome {
  if (!(error instanceof TesseractError)) throw error;
  return { outcome: "failed", reason: `${what}: ${error.message}`, ...hinted(error.hint) };
}

const hinted = (hint: string | undefined): { readonly hint?: string } => (hint === undefined ? {} : { hint });
