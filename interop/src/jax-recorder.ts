// Stands between the clients of many programs and their servers: tells whose requests they are, and asks a server the same
// thing once.

import { type LocalServer, type ReceivedRequest, serveLocally } from "./local-server.js";
import { type Exchange, forward } from "./recording-proxy.js";

export interface Recorder extends LocalServer {
  /** Its requests are told from those of others. */
  client(): RecordedClient;
}

export interface RecordedClient {
  readonly url: string;
  /** Where it finds a server. */
  basePath(server: string): string;
  /** The endpoints that it has asked since the last time, in the order in which it did. */
  takeRequests(): readonly string[];
}

/** A connection that is kept may end at the moment in which it is used again, when the machine is busy. */
const once = { connection: "close" };

/**
 * The Tesseracts behind it are pure, so equal requests have equal answers: programs that ask the same share one, which saves
 * most of the time that the runtime takes.
 *
 * @param servers their URLs by name
 */
export async function startRecorder(servers: Readonly<Record<string, string>>): Promise<Recorder> {
  const answers = new Map<string, Promise<Exchange>>();
  const asked = new Map<string, string[]>();
  const answerTo = (server: string, received: ReceivedRequest): Promise<Exchange> => {
    const { method, path, headers, body } = received;
    const key = [server, method, path, headers.accept, headers["content-type"], body.toString("latin1")].join("\n");
    let answer = answers.get(key);
    if (answer === undefined) {
      const target = servers[server];
      if (target === undefined) throw new Error(`There is no server ${server}`);
      answer = forward(target, { ...received, headers: { ...headers, ...once } });
      answers.set(key, answer);
    }
    return answer;
  };
  const local = await serveLocally(async (received, response) => {
    const [, client = "", server = "", ...rest] = received.path.split("/");
    const path = `/${rest.join("/")}`;
    if (received.method === "POST") asked.get(client)?.push(path.split("?")[0]?.slice(1) ?? "");
    const { status, answerHeaders, answer } = await answerTo(server, { ...received, path });
    response.writeHead(status, { ...answerHeaders, ...once, "content-length": answer.length }).end(answer);
  });
  return {
    ...local,
    client() {
      const name = `client-${asked.size}`;
      const requests: string[] = [];
      asked.set(name, requests);
      return {
        url: local.url,
        basePath: (server) => `/${name}/${server}`,
        takeRequests: () => requests.splice(0),
      };
    },
  };
}
