// Counts what goes through this process's sockets. Connections of undici, by which `fromUrl` calls, tell of themselves
// (https://undici.nodejs.org/#/docs/api/DiagnosticsChannel).

import { subscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

const sockets = new Set<Socket>();

subscribe("undici:client:connected", (message) => {
  sockets.add((message as { readonly socket: Socket }).socket);
});

/** Bytes that were sent and received up to now, HTTP's heads included. */
export function bytesThroughSockets(): number {
  return [...sockets].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, 0);
}
