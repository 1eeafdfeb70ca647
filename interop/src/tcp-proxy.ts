// A proxy for connections, which knows nothing of HTTP and may end them.

import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type { LocalServer } from "./local-server.js";

export interface TcpProxyOptions {
  /** Ends a connection on which nothing has passed for so many milliseconds, as servers do. */
  readonly idle?: number;
  /** Breaks the first connection that has carried so many bytes from the client, and no other. */
  readonly breakAfter?: number;
}

export interface TcpProxy extends LocalServer {
  /** How many connections there have been. */
  readonly connections: () => number;
}

export async function startTcpProxy(target: string, { idle, breakAfter }: TcpProxyOptions): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    open.add(socket);
    // Whatever ends a connection, the tests are about what the client makes of it.
    return socket.on("error", () => {}).once("close", () => open.delete(socket));
  };
  let connections = 0;
  let broken = false;
  const server = createServer((client) => {
    connections++;
    keep(client);
    const upstream = keep(connect(Number(port), hostname));
    client.pipe(upstream).pipe(client);
    let sent = 0;
    client.on("data", ({ length }) => {
      sent += length;
      if (broken || sent < (breakAfter ?? Number.POSITIVE_INFINITY)) return;
      broken = true;
      client.resetAndDestroy();
      upstream.destroy();
    });
    if (idle !== undefined) {
      client.setTimeout(idle, () => {
        client.end();
        upstream.end();
      });
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
