/** Messages between two processes of the suite: what HTTP carries between a client and a server. */
import type { CudaArray, DeviceTransport, ReceivedArray, Session } from "@tesseract-ts/core";
import type { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";

export type Connected = DeviceTransport & Session;

export interface Letter {
  readonly arrays: readonly ReceivedArray[];
  readonly headers: Readonly<Record<string, string>>;
}

export interface Sender {
  readonly letter: Letter;
  /** The other side has answered: its headers are read, and what was exported is given back. */
  answered(headers: Letter["headers"]): Promise<void>;
}

export async function encode(transport: Connected, arrays: readonly CudaArray[]): Promise<Sender> {
  const message = await transport.encode(arrays, { compression: "none" });
  return {
    letter: {
      arrays: message.arrays.map((array, index) => ({ ...array, path: `arrays.[${index}]` })),
      headers: { "tesseract-peer": "peer", ...message.headers, ...transport.headers?.() },
    },
    async answered(headers) {
      await transport.receive?.((name) => headers[name]);
      await message.lease?.release();
    },
  };
}

/** The caller disposes of the arrays. */
export async function decode(transport: Connected, { arrays, headers }: Letter): Promise<readonly DeviceArray[]> {
  const find = (name: string): string | undefined => headers[name];
  await transport.receive?.(find);
  return (await transport.decode(arrays, { headers: find })) as readonly DeviceArray[];
}
