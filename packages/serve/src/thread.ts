/** A thread that runs the endpoints of one Tesseract, one call at a time. */
import { parentPort, workerData } from "node:worker_threads";
import { type HostArray, isHostArray, TesseractError, type TypedArray } from "@tesseract-ts/core";
import { createRunner, loadTesseract, type Runner, type RunnerAnswer, UndecodableArray } from "@tesseract-ts/inprocess";
import { printingTo, watchPrinting } from "./calls/printing.js";
import { Run } from "./calls/run.js";
import type { FromThread, SentError, ThreadData, ToThread } from "./endpoints/thread-messages.js";

if (parentPort === null) throw new Error("This file is a thread of a server, and nothing by itself");
const port = parentPort;
const { path, development, transports } = workerData as ThreadData;

let controller = new AbortController();

const say = (message: FromThread, transfer: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, [...transfer]);

async function answer(runner: Runner, call: Extract<ToThread, { kind: "call" }>): Promise<void> {
  controller = new AbortController();
  const run = new Run(call.outputPath, call.runId);
  try {
    const places = runner.encodedArrays(call.route, call.payload);
    call.arrays.forEach((sent, index) => {
      places[index]?.put(sent.kind === "array" ? sent.array : new UndecodableArray(sent.encoding, sent.reason));
    });
    const answered = await printingTo(run, () =>
      runner.run({
        route: call.route,
        payload: call.payload,
        ownsInputs: true,
        context: {
          signal: controller.signal,
          runId: run.id,
          outputDirectory: () => run.outputDirectory(),
          log: (message) => run.log(message),
        },
      }),
    );
    await run.finish();
    sendAnswer(answered);
  } catch (error) {
    await run.finish();
    say({ kind: "failed", error: sentError(error) });
  }
}

function sendAnswer(answer: RunnerAnswer): void {
  if (answer.kind === "refused") {
    say({ kind: "refused", issues: answer.issues.map(withoutArrays) });
    return;
  }
  const transfer: ArrayBuffer[] = [];
  say({ kind: "answered", outputs: copied(answer.outputs, transfer) }, transfer);
}

/** An endpoint may keep what it returned, so that arrays are copied before they are given away. */
function copied(value: unknown, transfer: ArrayBuffer[]): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => copied(item, transfer));
  if (isHostArray(value)) {
    const data: TypedArray = value.data.slice();
    transfer.push(data.buffer as ArrayBuffer);
    return { dtype: value.dtype, shape: [...value.shape], data } as HostArray;
  }
  if ("cudaArrayInterface" in value) {
    throw new TesseractError("INVALID_OUTPUTS", "An endpoint that runs in a thread can't return GPU arrays", {
      hint: 'Use `runIn: "event loop"`, and several worker processes if it computes for long.',
    });
  }
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copied(member, transfer)]));
}

/** What an issue repeats may be anything of the request, and needn't cross if it can't. */
function withoutArrays<T extends { readonly input?: unknown }>(issue: T): T {
  try {
    structuredClone(issue.input);
    return issue;
  } catch {
    const { input: _, ...rest } = issue;
    return rest as T;
  }
}

function sentError(error: unknown): SentError {
  const own =
    error instanceof TesseractError ? error : new TesseractError("ENDPOINT_FAILED", String(error), { cause: error });
  const { code, message, hint, stack, cause } = own;
  const reason =
    cause instanceof Error
      ? { message: cause.message, stack: cause.stack }
      : cause === undefined
        ? undefined
        : { message: String(cause), stack: undefined };
  return { code, message, hint, stack, cause: reason };
}

watchPrinting();
const runner = createRunner(await loadTesseract(path), { development, transports });
port.on("message", (message: ToThread) => {
  if (message.kind === "abort") controller.abort(new TesseractError("ABORTED", message.reason));
  else void answer(runner, message);
});
say({ kind: "ready" });
