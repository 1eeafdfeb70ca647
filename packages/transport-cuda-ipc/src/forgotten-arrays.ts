/** The safety net for device arrays that nobody disposed of: their memory is given back when they are collected. */
import { channel } from "node:diagnostics_channel";
import type { Storage } from "./storage.js";

/** What is published for each of them on the channel {@link FORGOTTEN_CHANNEL} of `node:diagnostics_channel`. */
export interface ForgottenArray {
  /** `float32 [1024, 3]` */
  readonly array: string;
  readonly byteLength: number;
}

export const FORGOTTEN_CHANNEL = "tesseract-ts:device-array:forgotten";

interface Held {
  readonly storage: Storage;
  readonly array: string;
  readonly byteLength: number;
}

const forgotten = channel(FORGOTTEN_CHANNEL);
let warned = false;

const registry = new FinalizationRegistry<Held>(({ storage, array, byteLength }) => {
  storage.letGo();
  const message: ForgottenArray = { array, byteLength };
  forgotten.publish(message);
  if (warned) return;
  warned = true;
  process.emitWarning(
    `A DeviceArray (${array}) was collected without being disposed of. Its memory is given back, but late: ` +
      "use `using`, or call dispose(). Further ones aren't warned of.",
    { code: "DEVICE_ARRAY_FORGOTTEN" },
  );
});

export function watch(array: object, held: Held): void {
  registry.register(array, held, array);
}

export function unwatch(array: object): void {
  registry.unregister(array);
}
