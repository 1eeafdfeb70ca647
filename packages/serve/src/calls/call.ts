/** One call of an endpoint, from the tree that was read to the body of the answer. */
import { type Headers, type HostTransport, TesseractError, type Transport } from "@tesseract-ts/core";
import { outputFormatOf } from "@tesseract-ts/core/message";
import type { Runner, RunnerAnswer, RunnerRoute } from "@tesseract-ts/inprocess";
import type { Endpoints } from "../endpoints/endpoints.js";
import type { HeldExports } from "../exchange/held-exports.js";
import { issuesOf } from "../http/issues.js";
import type { Encoding } from "../http/negotiation.js";
import { invalid, Refusal } from "../http/refusal.js";
import { forRun } from "../offer.js";
import type { Settings } from "../settings.js";
import { type DecodedArray, decodeArrays } from "./decode-request.js";
import { DeviceMemory } from "./device-memory.js";
import { type EncodedAnswer, encodeAnswer } from "./encode-answer.js";
import type { CallEnding } from "./ending.js";
import type { ReceivedBuffers } from "./received-buffers.js";
import { Run } from "./run.js";

export interface Call {
  readonly route: RunnerRoute;
  readonly payload: unknown;
  readonly buffers: ReceivedBuffers;
  /** A fresh one if it is undefined. */
  readonly runId: string | undefined;
  /** Or why there is none: then the endpoint isn't called. */
  readonly encoding: Encoding | Refusal;
  readonly transports: readonly Transport[];
  readonly headers: Headers;
  readonly ending: CallEnding;
  /** The request's arrays have been decoded: what they referred to isn't read any more. */
  readonly onRead: () => void;
}

export interface CallContext {
  readonly settings: Settings;
  readonly runner: Runner;
  readonly endpoints: Endpoints;
  readonly exports: HeldExports;
}

/** With `lease`, whose bytes have been reserved: whoever sends the answer keeps it, or releases it and cancels the bytes. */
export type CallAnswer = EncodedAnswer;

/**
 * @throws Refusal; the signal's reason; TesseractError ENDPOINT_FAILED, INVALID_OUTPUTS, INPUT_CHANGED, ENDPOINT_NOT_FOUND,
 *   and what transports throw
 */
export async function answerCall(call: Call, context: CallContext): Promise<CallAnswer> {
  const { route, payload, ending } = call;
  const { inputPath, outputPath } = context.settings;
  const run = new Run(outputPath, call.runId);
  const here = (transport: Transport): Transport =>
    transport.carries === "host" ? forRun(transport, { inputPath, outputPath, folder: run.folder }) : transport;
  const memory = context.settings.gpuTransport === "none" ? undefined : new DeviceMemory();
  let running: Promise<unknown> | undefined;
  let exported = false;
  let settled = false;
  try {
    const places = context.runner.encodedArrays(route, payload);
    let arrays: readonly DecodedArray[] = [];
    if (places.length > 0) {
      arrays = await decodeArrays(places, {
        transportFor: (encoding) => {
          const transport = transportFor(encoding, call.transports);
          return transport === undefined ? undefined : here(transport);
        },
        buffers: call.buffers,
        maxArrayBytes: context.settings.maxArrayBytes,
        headers: call.headers,
        ending,
      });
      memory?.take(arrays);
    }
    call.onRead();
    if (!call.buffers.isEmpty) refuseLost(call.buffers.restore(payload));
    ending.throwIfAborted();
    const { encoding } = call;
    if (encoding instanceof Refusal) {
      for (let index = 0; index < places.length; index++) places[index]?.put(arrays[index] as DecodedArray);
      const issues = context.runner.check(route, payload);
      throw issues.length > 0 ? invalid(...issuesOf(issues)) : encoding;
    }
    const answering = context.endpoints.run({ route, payload, places, arrays, run, ending });
    running = answering;
    const answer = await ending.unlessAborted(answering);
    const writing = run.finish();
    if (writing !== undefined) await writing;
    settled = true;
    if (answer.kind === "refused") throw invalid(...issuesOf(answer.issues));
    memory?.take(answer.outputs);
    const encoded = await encodeOutputs(answer.outputs, encoding, call, context, here);
    if (encoded.lease === undefined || memory === undefined) return encoded;
    // What is exported stays until the client has copied it.
    exported = true;
    const { lease } = encoded;
    const release = async (): Promise<void> => {
      await lease.release();
      memory[Symbol.dispose]();
    };
    return { ...encoded, lease: { release } };
  } finally {
    if (!exported && running !== undefined && !settled) void endAfter(running, run, memory);
    else if (!exported) memory?.[Symbol.dispose]();
  }
}

function encodeOutputs(
  outputs: unknown,
  encoding: Encoding,
  { transports, ending }: Call,
  { exports }: CallContext,
  here: (transport: Transport) => Transport,
): Promise<EncodedAnswer> {
  const host = transports.find(
    (candidate): candidate is HostTransport =>
      candidate.carries === "host" && outputFormatOf(candidate) === encoding.outputFormat,
  );
  if (host === undefined)
    throw new TesseractError("TRANSPORT_MISSING", `No transport makes "${encoding.outputFormat}"`);
  return encodeAnswer(outputs, {
    host: here(host) as HostTransport,
    device: transports.find(
      (candidate) => candidate.carries === "device" && candidate.name === encoding.gpuTransport,
    ) as Extract<Transport, { carries: "device" }> | undefined,
    compression: encoding.compression,
    ending,
    exports,
  });
}

/** An endpoint that doesn't heed its signal goes on, with what it was given. */
async function endAfter(running: Promise<unknown>, run: Run, memory: DeviceMemory | undefined): Promise<void> {
  const settled = await running.then(
    (value) => value,
    () => undefined,
  );
  await run.finish();
  if (memory === undefined) return;
  if (isAnswered(settled)) memory.take(settled.outputs);
  memory[Symbol.dispose]();
}

const isAnswered = (value: unknown): value is Extract<RunnerAnswer, { kind: "answered" }> =>
  typeof value === "object" && value !== null && "outputs" in value;

const transportFor = (encoding: string, transports: readonly Transport[]): Transport | undefined =>
  transports.find(
    (candidate) =>
      candidate.name === encoding || (candidate.carries === "host" && candidate.aliases?.includes(encoding) === true),
  );

function refuseLost(paths: readonly (readonly (string | number)[])[]): void {
  if (paths.length === 0) return;
  throw invalid(
    ...paths.map((path) => ({
      type: "array_decode_error",
      loc: ["body", ...path],
      msg: "The text is too long to be read here, or isn't base64",
    })),
  );
}
