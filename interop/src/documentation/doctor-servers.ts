// Servers that give `doctor` something to say: the reference and this project's own on a simulated machine, and some that stand
// before the reference and answer otherwise.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { SimulatedCuda } from "@tesseract-ts/cuda-simulator";
import { serveLocally } from "../local-server.js";

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** A proxy that passes on what is asked with GET, and answers the rest itself. */
const inFrontOf = (url: string, answerOf: (body: string) => Answer | Promise<Answer>) =>
  serveLocally(async ({ method, path, body }, response) => {
    const passed = async (): Promise<Answer> => {
      const { status, text } = await fetched(`${url}${path}`);
      return { status, text };
    };
    const { status, text } = method === "GET" ? await passed() : await answerOf(String(body));
    response.writeHead(status, { "content-type": "application/json" }).end(text);
  });

/** @param body is posted */
async function fetched(url: string, body?: string): Promise<Answer> {
  const headers = { "content-type": "application/json", accept: "application/*; gpu_transport=cuda_ipc" };
  const answer = await fetch(url, body === undefined ? {} : { method: "POST", headers, body });
  return { status: answer.status, text: await answer.text() };
}

/** A server with the document of another, less some members. */
const withoutMembers = (url: string, ...names: readonly string[]) =>
  serveLocally(async (_, response) => {
    const document = Object.entries(JSON.parse((await fetched(`${url}/openapi.json`)).text));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(Object.fromEntries(document.filter(([name]) => !names.includes(name)))));
  });

/** This project's server, as it is published. */
class OwnServer implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(env: NodeJS.ProcessEnv): Promise<OwnServer> {
    const program = fileURLToPath(new URL("serve-on-gpu.mjs", import.meta.url));
    const child = spawn(process.execPath, [program], {
      env: { ...process.env, ...env },
      stdio: ["pipe", "pipe", "ignore"],
    });
    for await (const url of createInterface({ input: child.stdout })) return new OwnServer(child, url);
    throw new Error("The Tesseract isn't served");
  }

  /** Its standard input's end is its own. */
  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.child, "exit");
    this.child.stdin?.end();
    await exited;
  }
}

export type Place = Exclude<keyof DoctorServers, "end" | "start">;

export class DoctorServers {
  private constructor(
    readonly reference: string,
    readonly referenceWithoutDriver: string,
    readonly ours: string,
    readonly oursWithoutDriver: string,
    readonly withoutTransport: string,
    readonly of113: string,
    readonly of112: string,
    /** Gives an array with a handle that no driver has given. */
    readonly inventing: string,
    /** Has no such path. */
    readonly filtering: string,
    readonly answeringElse: string,
    /** Answers each check with the answer of the first. */
    readonly answeringAgain: string,
    readonly end: () => Promise<void>,
  ) {}

  /** @param references two runtimes, the second without a driver */
  static async start(
    { env }: Pick<SimulatedCuda, "env">,
    [reference, referenceWithoutDriver]: readonly [string, string],
  ): Promise<DoctorServers> {
    const [transports, compressions, formats] = ["gpu-transports", "compressions", "output-formats"].map(
      (name) => `x-supported-${name}`,
    ) as [string, string, string];
    let first: string | undefined;
    const started = await Promise.all([
      OwnServer.start({ ...env, CUDA_VISIBLE_DEVICES: "0" }),
      OwnServer.start({ TESSERACT_CUDA_DRIVER: "libnowhere.so.9" }),
      serveLocally(async (_, response) => {
        const document = JSON.parse((await fetched(`${reference}/openapi.json`)).text);
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ ...document, [transports]: ["none"] }));
      }),
      withoutMembers(reference, transports, compressions),
      withoutMembers(reference, transports, compressions, formats),
      inFrontOf(reference, (body) => ({ status: 200, text: JSON.stringify({ ok: true, array: invented(body) }) })),
      inFrontOf(reference, () => ({ status: 404, text: '{"detail":"Not Found"}' })),
      inFrontOf(reference, () => ({ status: 200, text: "{}" })),
      // The reference keeps what it exported for it, since nobody says that it has been read.
      inFrontOf(reference, async (body) => {
        first ??= (await fetched(`${reference}/check_gpu_transport`, body)).text;
        return { status: 200, text: first };
      }),
    ]);
    const urls = started.map(({ url }) => url) as [
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    return new DoctorServers(reference, referenceWithoutDriver, ...urls, async () => {
      await Promise.all(started.map((each) => each[Symbol.asyncDispose]()));
    });
  }
}

/** The array of a check, elsewhere. */
function invented(check: string): unknown {
  const { array } = JSON.parse(check);
  const [uuid, , offset, size] = array.data.buffer.split(":");
  const handle = Buffer.alloc(64, 7).toString("base64");
  return { ...array, data: { ...array.data, buffer: [uuid, handle, offset, size].join(":") } };
}

/** @returns the path of a driver of CUDA 11.3, made in this folder */
export async function oldDriver(folder: string): Promise<string> {
  const source = "int cuInit(unsigned f) { return 0; } int cuDriverGetVersion(int* v) { *v = 11030; return 0; }";
  await writeFile(join(folder, "driver.c"), source);
  await promisify(execFile)("cc", ["-shared", "-fPIC", "-o", join(folder, "libold.so"), join(folder, "driver.c")]);
  return join(folder, "libold.so");
}
