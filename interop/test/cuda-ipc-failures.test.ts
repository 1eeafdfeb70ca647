import { setTimeout as sleep } from "node:timers/promises";
import type { TesseractError } from "@tesseract-ts/core";
import type { DeviceArray } from "@tesseract-ts/transport-cuda-ipc";
import { expect, test } from "vitest";
import type { CudaClient } from "../src/cuda-client.js";
import { describeOnSimulator, onSimulatedMachine } from "../src/simulated.js";

const gpu = { gpuTransport: "cuda_ipc" };

/** Calls that are aborted after random times, and arrays that are disposed of at once then; then one that isn't. */
const abortedCalls = (
  { connected, upload, download, cuda: { DeviceMemory, openDriver } }: CudaClient,
  url: string,
  options: { gpuTransport: string },
  times: readonly number[],
) =>
  connected(url, options, async (tess) => {
    const memory = DeviceMemory.of((await openDriver()).device());
    const outcomes: string[] = [];
    for (const time of times) {
      const x = await upload([1, 2, 3]);
      const call = tess.apply({ x, by: 1 }, { timeout: time });
      outcomes.push(
        await call.then(
          ({ y }) => {
            (y as unknown as DeviceArray).dispose();
            return "answered";
          },
          ({ code }: TesseractError) => code,
        ),
      );
      x.dispose();
      // What is idle is given back to the driver now: it mustn't be what the server still reads.
      await memory.trim({ wait: false });
    }
    const x = await upload([5, 6]);
    const { y } = (await tess.apply({ x, by: 1 })) as { y: unknown };
    x.dispose();
    await tess.health();
    await tess.health();
    await tess.health();
    return { outcomes, value: await download(y) };
  });

describeOnSimulator("calls that are given up", () => {
  const times = Array.from({ length: 24 }, (_, index) => 2 + ((index * 7919) % 40));
  test.each([
    ["before the server's copies", { call: "cuIpcOpenMemHandle", nth: "every", stall: "20ms" }],
    ["within the server's copies", { call: "cuMemcpyDtoD", nth: "every", stall: "10ms" }],
    ["after the server's copies", { call: "cuIpcCloseMemHandle", nth: "every", stall: "20ms" }],
  ] as const)("never lose memory that the server reads, and leave nothing behind: stalled %s", (_, fault) =>
    onSimulatedMachine({ delay: "1ms..4ms" }, async ({ cuda, serve, client: start }) => {
      const [server, client] = await Promise.all([serve("rotate", { faults: [fault] }), start()]);
      const { outcomes, value } = await client.run(abortedCalls, server.url, gpu, times);
      expect(value).toEqual([6, 5]);
      expect(outcomes).toContain("TIMEOUT");
      expect(cuda.trace.hazards).toEqual([]);
      expect(server.logs()).not.toMatch(/Error|Traceback/);
    }),
  );
});

describeOnSimulator("the death of the other side", () => {
  test("of the server in the middle of a call is a typed error, and the client's memory is its own again", () =>
    onSimulatedMachine({}, async ({ serve, client: start }) => {
      const faults = [{ call: "cuMemcpyDtoD", nth: 1, die: true }] as const;
      const [server, client] = await Promise.all([serve("rotate", { faults }), start()]);
      const result = await client.run(
        ({ connected, upload, download }, url, options) =>
          connected(url, options, async (tess) => {
            const x = await upload([1, 2, 3]);
            const failure = await tess.apply({ x, by: 1 }).catch(({ code, hint }: TesseractError) => ({ code, hint }));
            return { failure, still: await download(x) };
          }),
        server.url,
        gpu,
      );
      expect(result).toEqual({
        failure: { code: "CONNECTION_LOST", hint: expect.any(String) },
        still: [1, 2, 3],
      });
      expect(await server.exited).toBe("SIGKILL");
      // Nothing tells this client that the server is gone for good, so what it had exported stays until the time limit.
      expect(await client.run(({ held }) => held())).toEqual({ allocations: 1, mappings: 0, pending: 0 });
      await client.kill();
    }));

  test("of a client in the middle of a call leaves the server working for others", () =>
    onSimulatedMachine({}, async ({ cuda, serve, client: start }) => {
      const faults = [{ call: "cuMemcpyDtoD", nth: "every", stall: "300ms" }] as const;
      const [server, victim, client] = await Promise.all([serve("rotate", { faults }), start(), start()]);
      const call = victim.run(
        ({ connected, upload }, url, options) =>
          connected(url, options, async (tess) => {
            await tess.apply({ x: await upload([1, 2, 3]), by: 1 });
          }),
        server.url,
        gpu,
      );
      call.catch(() => {});
      while (cuda.trace.filter({ function: "cuIpcOpenMemHandle", pid: server.processId }).calls.length === 0) {
        await sleep(5);
      }
      await victim.kill();
      const value = await client.run(
        ({ connected, upload, download }, url, options) =>
          connected(url, options, async (tess) => {
            const x = await upload([7, 8]);
            const { y } = (await tess.apply({ x, by: 1 })) as { y: unknown };
            x.dispose();
            return download(y);
          }),
        server.url,
        gpu,
      );
      expect(value).toEqual([8, 7]);
    }));
});
