/** The check that a GPU transport works between this process and a server: `POST /check_gpu_transport`. */
import { acceptHeader, type RequestedEncoding } from "./encoding.js";
import { TesseractError } from "./errors.js";
import type { CheckOutcome } from "./gpu-transport.js";
import type { RequestBody } from "./http/http-client.js";
import { JsonBody } from "./json/writer.js";
import { checkEncodedArray, isEncodedArray } from "./message/decode-message.js";
import { MessageLease } from "./message/message-lease.js";
import { randomBytes } from "./random.js";
import type { DeviceTransport, EncodedMessage, ProbeResult } from "./transport.js";

/** Bytes that each side exports. */
const CHECK_BYTES = 256;

export interface GpuCheck {
  probe(): Promise<ProbeResult>;
  readonly encoding: RequestedEncoding;
  send(
    body: RequestBody,
    headers: Readonly<Record<string, string>>,
    lease: MessageLease,
  ): Promise<{ readonly tree: unknown; readonly exports: readonly string[] }>;
  acknowledge(exports: readonly string[]): void;
}

/** @throws TesseractError where the server answers with an error, which says nothing about the transport */
export async function checkOverHttp(transport: DeviceTransport, check: GpuCheck): Promise<CheckOutcome> {
  const probe = await check.probe();
  if (!probe.ok) return { outcome: "unusable", reason: probe.reason, ...hinted(probe.hint) };
  const bytes = randomBytes(CHECK_BYTES);
  const never = new AbortController().signal;
  let message: EncodedMessage;
  try {
    message = await transport.encodeCheck(bytes, { signal: never });
  } catch (error) {
    return failure("this process could not export an array", error);
  }
  const lease = new MessageLease();
  if (message.lease !== undefined) lease.add(message.lease);
  const [array] = message.arrays;
  const headers = { accept: acceptHeader(check.encoding), ...message.headers };
  const body = JsonBody.of({ gpu_transport: transport.name, array, expected: btoa(String.fromCharCode(...bytes)) });
  const { tree, exports } = await check.send(body, headers, lease);
  try {
    return await judge(transport, tree, bytes.slice().reverse());
  } finally {
    check.acknowledge(exports);
  }
}

async function judge(transport: DeviceTransport, tree: unknown, expected: Uint8Array): Promise<CheckOutcome> {
  const answer = typeof tree === "object" && tree !== null ? (tree as Readonly<Record<string, unknown>>) : {};
  if (answer.ok === false) {
    const reason = typeof answer.reason === "string" ? answer.reason : "the server gave no reason";
    return { outcome: "failed", reason };
  }
  const { array } = answer;
  if (answer.ok !== true || typeof array !== "object" || array === null || !isEncodedArray(array)) {
    throw new TesseractError("MALFORMED_RESPONSE", "The answer to the check of a GPU transport isn't one");
  }
  let found: Uint8Array;
  try {
    found = await transport.decodeCheck(checkEncodedArray(array, "array"), {});
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
