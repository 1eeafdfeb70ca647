import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { SimulatedCuda } from "@tesseract-ts/cuda-simulator";
import type { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import { expect, test } from "vitest";
import { findPython, repositoryRoot } from "../src/python.js";
import { describeOnSimulator, onSimulatedMachine } from "../src/simulated.js";

const gpu = { gpuTransport: "cuda_ipc" };
const nothing = { allocations: 0, mappings: 0, pending: 0 };

type ServedName = "rotate" | "echo" | "processes";

/** A Tesseract in TypeScript, served with cuda_ipc in a process of its own. */
class Served {
  private constructor(
    private readonly child: ChildProcess,
    private readonly lines: AsyncIterator<string>,
    readonly url: string,
  ) {}

  /** @param name of the Tesseract, or `processes` for `rotate` in two worker processes */
  static async start(cuda: SimulatedCuda, name: ServedName, exportTimeLimit = 300_000): Promise<Served> {
    const file = name === "processes" ? "serve-gpu-processes" : "serve-gpu-tesseract";
    const program = fileURLToPath(new URL(`../src/${file}.ts`, import.meta.url));
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "--conditions=source", program, name, String(exportTimeLimit)],
      {
        env: { ...process.env, ...cuda.env, TESSERACT_FORBID_DEVICE_HOST_COPY: "1" },
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    const reader: Interface = createInterface({ input: child.stdout });
    const lines = reader[Symbol.asyncIterator]();
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`${name} isn't served`);
    return new Served(child, lines, value);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async held(): Promise<Record<string, number>> {
    this.child.stdin?.write("held\n");
    return JSON.parse((await this.lines.next()).value);
  }

  /** What it holds when all has gone back that no client can have mapped. */
  async heldAfterTrim(): Promise<Record<string, number>> {
    this.child.stdin?.write("trim\n");
    return JSON.parse((await this.lines.next()).value);
  }

  /** Lets it end by itself; what it still holds then. */
  async end(): Promise<Record<string, number>> {
    this.child.stdin?.end();
    return JSON.parse((await this.lines.next()).value);
  }

  kill(): void {
    this.child.kill("SIGKILL");
  }
}

async function withServed(
  name: ServedName,
  work: Parameters<typeof onSimulatedMachine>[1] extends (machine: infer M) => unknown
    ? (served: Served, machine: M) => Promise<void>
    : never,
  options: { readonly exportTimeLimit?: number; readonly left?: object } = {},
): Promise<void> {
  const { exportTimeLimit, left = nothing, ...machine } = options;
  await onSimulatedMachine({ delay: "1ms..3ms", ...machine }, async (simulated) => {
    const served = await Served.start(simulated.cuda, name, exportTimeLimit);
    try {
      await work(served, simulated);
      expect(await served.end()).toMatchObject(left);
    } finally {
      served.kill();
    }
  });
}

describeOnSimulator("a Tesseract in TypeScript over simulated cuda_ipc", () => {
  test.each([
    ["rotate", "endpoints"],
    ["rotate", "kinds"],
    ["echo", "dtypes"],
    ["echo", "empties"],
  ] as const)("is called by the reference's client: %s, %s", (name, scenario) =>
    withServed(name, async (served, { cuda }) => {
      const program = `${repositoryRoot}/packages/cuda-simulator/test/interop/python/client.py`;
      const env = { TESSERACT_FORBID_DEVICE_HOST_COPY: "1" };
      const { exitCode, stderr } = await cuda.run(findPython(), [program, served.url, scenario], { env });
      expect([stderr, exitCode]).toEqual(["", 0]);
      // The server itself has copied nothing to the host but the check's 256 bytes.
      const copied = cuda.trace
        .filter({ pid: served.pid, library: "driver" })
        .calls.filter(({ direction, result }) => direction === "DtoH" && result === 0);
      expect(copied.map(({ bytes }) => bytes)).toEqual([256]);
    }),
  );

  test("is called by this project's client, for which mappings last", () =>
    withServed("rotate", async (served, { cuda, client: start }) => {
      const client = await start();
      const values = await client.run(
        ({ connected, upload, download }, url, options) =>
          connected(url, options, async (tess) => {
            const x = await upload([1, 2, 3]);
            const results: number[][] = [];
            for (let i = 0; i < 20; i++)
              results.push(await download(((await tess.apply({ x, by: 1 })) as never as { y: unknown }).y));
            x.dispose();
            return results;
          }),
        served.url,
        gpu,
      );
      expect(values).toEqual(Array.from({ length: 20 }, () => [2, 3, 1]));
      // One mapping on each side for twenty calls.
      const opened = (pid: number): number => cuda.trace.filter({ function: "cuIpcOpenMemHandle", pid }).calls.length;
      expect([opened(served.pid), opened(client.pid)]).toEqual([1, 1]);
    }));

  test("knows when a call that was given up isn't read any more", () =>
    withServed("rotate", async (served, { client: start }) => {
      const client = await start();
      const outcomes = await client.run(
        ({ connected, upload, download }, url, options) =>
          connected(url, options, async (tess) => {
            const seen: string[] = [];
            for (let time = 1; time <= 20; time++) {
              const x = await upload([1, 2, 3]);
              const call = tess.apply({ x, by: 1 }, { timeout: time });
              seen.push(
                await call.then(
                  ({ y }) => {
                    (y as unknown as DeviceArray).dispose();
                    return "answered";
                  },
                  ({ code }: { code: string }) => code,
                ),
              );
              x.dispose();
            }
            const x = await upload([4, 5]);
            const { y } = (await tess.apply({ x, by: 1 })) as never as { y: unknown };
            x.dispose();
            return [...new Set(seen), ...(await download(y))];
          }),
        served.url,
        gpu,
      );
      expect(outcomes).toContain("TIMEOUT");
      expect(outcomes.slice(-2)).toEqual([5, 4]);
    }));

  test(
    "is served by several processes: each answers, and is told what its clients are done with",
    () =>
      withServed(
        "processes",
        async (served, { cuda, client: start }) => {
          const client = await start();
          const connections = 4;
          const calls = client.run(
            ({ connected, upload, download }, url, options, count) =>
              Promise.all(
                Array.from({ length: count }, (_, by) =>
                  connected(url, options, async (tess) => {
                    const x = await upload([1, 2, 3, 4]);
                    const results: unknown[] = [];
                    for (let i = 0; i < 5; i++)
                      results.push(await download(((await tess.apply({ x, by })) as never as { y: unknown }).y));
                    x.dispose();
                    return results;
                  }),
                ),
              ),
            served.url,
            gpu,
            connections,
          );
          const rotated = (by: number) => [1, 2, 3, 4].map((_, index) => ((index + by) % 4) + 1);
          expect(await calls).toEqual(
            Array.from({ length: connections }, (_, by) => Array.from({ length: 5 }, () => rotated(by))),
          );
          const exporters = new Set(cuda.trace.filter({ function: "cuIpcGetMemHandle" }).calls.map(({ pid }) => pid));
          exporters.delete(client.pid);
          expect(exporters.size).toBe(2);
          // Of all processes together.
          const exports = async (): Promise<string> =>
            (await (await fetch(`${served.url}/metrics`)).text()).match(/^tesseract_exports \d+$/m)?.[0] ?? "none";
          await expect.poll(exports, { timeout: 60_000 }).toBe("tesseract_exports 0");
        },
        { left: {} },
      ),
    240_000,
  );

  // TESSERACT_CALLS=10000 makes it that many, and waits until memory is given back that a vanished client may have mapped as
  // far as the server knows: when it has been silent for five minutes.
  const calls = Number(process.env.TESSERACT_CALLS ?? 400);
  const long = calls >= 10_000;

  test(
    "gives back what clients leave that vanish",
    () =>
      withServed(
        "rotate",
        async (served, { client: start }) => {
          const clients = long ? 20 : 4;
          let answered = 0;
          for (let round = 0; answered < calls; round++) {
            const client = await start();
            const running = client.run(
              ({ connected, upload, kept }, url, options, count) =>
                connected(url, options, async (tess) => {
                  const x = await upload(Float64Array.from({ length: 1000 }, (_, index) => index));
                  kept.answered = 0;
                  // Four at once. It disposes of nothing that it gets.
                  const results: unknown[] = [];
                  const caller = async () => {
                    while ((kept.answered as number) < count) {
                      results.push(await tess.apply({ x, by: 1 }));
                      kept.answered = (kept.answered as number) + 1;
                      if (results.length > 100) (results.shift() as { y: DeviceArray }).y.dispose();
                    }
                  };
                  await Promise.all([caller(), caller(), caller(), caller()]);
                  return results.length;
                }),
              served.url,
              gpu,
              round % 2 === 0 ? Math.ceil(calls / clients) : 1e9,
            );
            let failure: unknown;
            running.catch((error: unknown) => {
              failure = error;
            });
            const progress = (): Promise<number> =>
              client.run(({ kept }) => (kept.answered as number | undefined) ?? 0);
            if (round % 2 === 0) {
              // This one takes leave and vanishes afterwards.
              await running;
            } else {
              // This one vanishes in the middle of its calls, at a moment that nobody chose.
              const some = 1 + Math.floor((Math.random() * 2 * calls) / clients);
              while ((await progress()) < some) {
                if (failure !== undefined) throw failure;
                await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()));
              }
            }
            answered += await progress();
            await client.kill();
          }
          // What was exported to them ends with the time limit, and is used again.
          await expect.poll(async () => (await served.held()).allocations, { timeout: 60_000 }).toBeLessThanOrEqual(2);
          if (!long) return;
          console.log(`${answered} calls, then`, await served.held());
          await expect.poll(() => served.heldAfterTrim(), { timeout: 600_000 }).toMatchObject(nothing);
        },
        { exportTimeLimit: 500, left: long ? nothing : { mappings: 0, pending: 0 } },
      ),
    long ? 3_000_000 : 240_000,
  );
});
