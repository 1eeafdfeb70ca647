/** The operations' codes and their form in the words that the addon reads; native/batch.h has the same. */

/** The 64-bit words of one operation: its code and up to nine operands. A pointer takes two of them. */
export const OPERATION_WORDS = 10;

export const operationCodes = {
  alloc: 1n,
  free: 2n,
  copy: 3n,
  copy2D: 4n,
  copyPeer: 5n,
  copyFromHost: 6n,
  copyToHost: 7n,
  fill: 8n,
  addressRange: 9n,
  attributes: 10n,
  ipcHandle: 11n,
  ipcOpen: 12n,
  ipcClose: 13n,
  waitForStream: 14n,
  createStream: 15n,
  destroyStream: 16n,
  synchronizeStream: 17n,
  queryStream: 18n,
  createEvent: 19n,
  destroyEvent: 20n,
  recordEvent: 21n,
  waitForEvent: 22n,
  synchronizeEvent: 23n,
  queryEvent: 24n,
  memoryInfo: 25n,
  granularity: 26n,
  synchronize: 27n,
} as const;

export type OperationName = keyof typeof operationCodes;

/** What is being done, where the caller gives no words of its own. */
export const operationTexts: { readonly [Name in OperationName]: string } = {
  alloc: "allocating device memory",
  free: "freeing device memory",
  copy: "copying on the device",
  copy2D: "copying rows on the device",
  copyPeer: "copying from another device",
  copyFromHost: "copying from the host to the device",
  copyToHost: "copying from the device to the host",
  fill: "filling device memory",
  addressRange: "looking up an allocation",
  attributes: "looking up a device pointer",
  ipcHandle: "exporting device memory",
  ipcOpen: "opening the memory of another process",
  ipcClose: "closing the memory of another process",
  waitForStream: "waiting for the stream of an array",
  createStream: "creating a stream",
  destroyStream: "destroying a stream",
  synchronizeStream: "waiting for a stream",
  queryStream: "asking whether a stream is done",
  createEvent: "creating an event",
  destroyEvent: "destroying an event",
  recordEvent: "recording an event",
  waitForEvent: "making a stream wait for an event",
  synchronizeEvent: "waiting for an event",
  queryEvent: "asking whether an event is done",
  memoryInfo: "asking for free memory",
  granularity: "asking for the granularity of memory",
  synchronize: "waiting for work on the device",
};
