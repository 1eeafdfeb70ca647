/** The other process of a message: what it is sent by `cuda_ipc` it copies, and it sends arrays of its own. */
import { bytesOf, type DType, type HostArray, type ReceivedArray } from "@tesseract-ts/core";
import { Batch, cudaIpc, DeviceArray, DeviceMemory, openDriver } from "@tesseract-ts/transport-cuda-ipc";
import { decode, encode, type Letter, type Sender } from "./letters.js";
import { offer } from "./remote.js";

/** An array of the host as it goes from process to process. */
export interface PlainArray {
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

const transport = cudaIpc().connect?.({ name: "the other process of the suite" });
if (transport === undefined) throw new Error("cuda_ipc has no sessions");

let openings = 0;
const open = Batch.prototype.ipcOpen;
Batch.prototype.ipcOpen = function (...args) {
  openings++;
  return open.apply(this, args);
};

let sent: { readonly arrays: readonly DeviceArray[]; readonly sender: Sender } | undefined;

export const operations = {
  /** Decodes a message and gives back what it says. */
  async read(letter: Letter): Promise<{ readonly arrays: PlainArray[]; readonly answer: Letter["headers"] }> {
    const decoded = await decode(transport, letter);
    const arrays: PlainArray[] = [];
    for (const array of decoded) {
      const host: HostArray = await array.copyToHost();
      arrays.push({ dtype: host.dtype, shape: host.shape, bytes: bytesOf(host) });
      array.dispose();
    }
    return { arrays, answer: answerHeaders() };
  },

  /** Decodes a message and throws it away, for measurements. */
  async take(letter: Letter): Promise<Letter["headers"]> {
    for (const array of await decode(transport, letter)) array.dispose();
    return answerHeaders();
  },

  /** How often another process's memory was mapped. */
  openings: (): number => openings,

  /** Makes arrays and sends them. */
  async send(arrays: readonly { readonly values: HostArray }[]): Promise<Letter> {
    const made = await Promise.all(arrays.map(({ values }) => DeviceArray.fromHost(values)));
    const sender = await encode(transport, made);
    sent = { arrays: made, sender };
    return sender.letter;
  },

  /** What was sent has been answered. */
  async answered(headers: Letter["headers"]): Promise<void> {
    await sent?.sender.answered(headers);
    for (const array of sent?.arrays ?? []) array.dispose();
    sent = undefined;
  },

  /** The second half of the check: reads the array, and answers with its bytes reversed. */
  async check(array: ReceivedArray): Promise<{ readonly bytes: Uint8Array; readonly array: ReceivedArray }> {
    const bytes = await transport.decodeCheck(array, {});
    const { arrays, lease } = await transport.encodeCheck(bytes.slice().reverse(), {});
    checkLease = lease;
    const [answer] = arrays;
    if (answer === undefined) throw new Error("The check has no array");
    return { bytes, array: { ...answer, path: "array" } };
  },

  async endCheck(): Promise<void> {
    await checkLease?.release();
    checkLease = undefined;
  },

  /** Lets go of everything, and says what is still held: all zeros. */
  async leave(farewell: Letter["headers"]): Promise<Readonly<Record<"allocations" | "mappings" | "pending", number>>> {
    await transport.receive?.((name) => farewell[name]);
    await transport.close();
    const driver = await openDriver();
    await Promise.all(driver.devices.map((device) => DeviceMemory.of(device).trim()));
    const { allocations, mappings, pending } = driver.held();
    return { allocations, mappings, pending };
  },
};

let checkLease: { release(): Promise<void> } | undefined;

const answerHeaders = (): Letter["headers"] => ({ "tesseract-peer": "peer", ...transport.headers?.() });

offer(operations);
