/** The server's side of the check that a GPU transport works between it and a client. */
import { type DeviceTransport, TesseractError, type Transport } from "@tesseract-ts/core";
import { checkEncodedArray, isEncodedArray, MessageLease } from "@tesseract-ts/core/message";

/** Bytes that each side exports. */
const CHECK_BYTES = 256;

export interface CheckAnswer {
  readonly body: { readonly ok: true; readonly array: unknown } | { readonly ok: false; readonly reason: string };
  readonly lease?: MessageLease;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * @param request `{gpu_transport, array, expected}`: an exported array of random bytes, and the bytes in base64
 * @param offered the GPU transports that may be asked for, `none` among them
 */
export async function answerCheck(
  request: unknown,
  transports: readonly Transport[],
  offered: readonly string[],
  signal: AbortSignal,
): Promise<CheckAnswer> {
  const { gpu_transport: name, array, expected } = isRecord(request) ? request : {};
  const transport = transports.find(
    (candidate): candidate is DeviceTransport => candidate.carries === "device" && candidate.name === name,
  );
  if (transport === undefined || !offered.includes(transport.name)) {
    const available = offered.map((each) => `"${each}"`).join(", ");
    return refused(
      `The GPU transport ${JSON.stringify(name) ?? "undefined"} isn't enabled here (available: ${available})`,
    );
  }
  const probe = await transport.probe();
  if (!probe.ok) {
    const hint = probe.hint === undefined ? "" : `. ${probe.hint}`;
    return refused(`The server can't use "${transport.name}": ${probe.reason}${hint}`);
  }
  try {
    return await exchange(transport, array, expected, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TesseractError)) throw error;
    const hint = error.hint === undefined ? "" : ` ${error.hint}`;
    return refused(`The server could not exchange GPU memory with the client: ${error.message}${hint}`);
  }
}

async function exchange(
  transport: DeviceTransport,
  array: unknown,
  expected: unknown,
  signal: AbortSignal,
): Promise<CheckAnswer> {
  if (!isRecord(array) || !isEncodedArray({ object_type: "array", ...array })) return refused("There is no array");
  const received = checkEncodedArray({ object_type: "array", ...array }, "array");
  const [size] = received.shape;
  if (received.dtype !== "uint8" || received.shape.length !== 1 || size !== CHECK_BYTES) {
    return refused(`The array isn't one of ${CHECK_BYTES} bytes`);
  }
  if (received.data.encoding !== transport.name) return refused(`The array isn't encoded as "${transport.name}"`);
  const found = await transport.decodeCheck(received, { signal });
  const wanted = Buffer.from(typeof expected === "string" ? expected : "", "base64");
  if (wanted.length !== CHECK_BYTES || !wanted.equals(found)) {
    return refused("The client's array has other bytes than the client said");
  }
  const message = await transport.encodeCheck(Uint8Array.from(found).reverse(), { signal });
  const lease = new MessageLease();
  if (message.lease !== undefined) lease.add(message.lease);
  return { body: { ok: true, array: message.arrays[0] }, lease, headers: message.headers ?? {} };
}

const refused = (reason: string): CheckAnswer => ({ body: { ok: false, reason } });

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
