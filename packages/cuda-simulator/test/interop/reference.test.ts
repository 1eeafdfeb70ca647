// The unmodified reference carries GPU arrays between its client and its server by cuda_ipc, both on the simulator.

import { expect, test, vi } from "vitest";
import { type SimulatedCuda, type SimulatedCudaOptions, simulatedCuda } from "../../src/index.js";
import { describeWith, missingLibraries } from "../support.js";
import {
  type ClientReport,
  copies,
  missingReference,
  printed,
  type ReferenceServer,
  runClient,
  serve,
} from "./reference.js";

vi.setConfig({ testTimeout: 180_000 });

/** What either side of the check copies down to compare it, and up to make its array; in bytes. */
const CHECK = 256;

/** Nothing happens before something waits for it, so that a wait that is left out shows. */
const machine = (options: SimulatedCudaOptions = {}): Promise<SimulatedCuda> =>
  simulatedCuda({ memory: "256MiB", delay: "lazy", strict: true, ...options });

interface Exchange {
  readonly lines: readonly unknown[];
  readonly client: number;
}

/**
 * Runs a scenario, and expects of the trace that nothing went through the host but the check's arrays, what the client
 * copied itself to make and to compare arrays, and `constants` of the server's.
 */
async function exchange(
  cuda: SimulatedCuda,
  server: ReferenceServer,
  scenario: string,
  options: { readonly constants?: readonly number[]; readonly visibleDevices?: string } = {},
): Promise<Exchange> {
  const { constants = [], visibleDevices } = options;
  const result = await runClient(cuda, server, scenario, { visibleDevices });
  expect(result).toMatchObject({ exitCode: 0, stderr: "" });
  const lines = printed(result);
  const { uploads, downloads } = lines.at(-1) as ClientReport;
  const { trace } = cuda;
  const [client = 0, ...others] = trace.pids.filter((pid) => pid !== server.pid);
  expect(others).toEqual([]);
  expect(copies(trace, client, "HtoD")).toEqual([CHECK, ...uploads]);
  expect(copies(trace, client, "DtoH")).toEqual([CHECK, ...downloads]);
  expect(copies(trace, server.pid, "HtoD")).toEqual([CHECK, ...constants]);
  expect(copies(trace, server.pid, "DtoH")).toEqual([CHECK]);
  for (const pid of trace.pids) expect(copies(trace, pid, "HtoH")).toEqual([]);
  expect(trace.hazards).toEqual([]);
  expect(trace.failures).toEqual([]);
  // The client has gone and the server lives: no one has anything mapped any more.
  const { allocations, hazards } = await cuda.status();
  expect(hazards).toBe(0);
  expect(allocations.filter(({ mappedBy, freed }) => mappedBy.length > 0 || freed)).toEqual([]);
  expect(downloads.length).toBeGreaterThan(0);
  return { lines, client };
}

const opened = (cuda: SimulatedCuda, pid: number): number =>
  cuda.trace.filter({ pid, function: "cuIpcOpenMemHandle", failed: false }).calls.length;

describeWith(missingLibraries() ?? missingReference(), "the reference's client and server", () => {
  test("pass the check, and carry arrays through every endpoint on the device", async () => {
    await using cuda = await machine();
    await using server = await serve(cuda, "rotate");
    // The jacobian's constant 1, once.
    const { client } = await exchange(cuda, server, "endpoints", { constants: [8] });
    // The check and apply, one array each way; the jacobian too; an array and a (co)tangent for each product.
    expect(opened(cuda, server.pid)).toBe(1 + 1 + 1 + 2 + 2);
    expect(opened(cuda, client)).toBe(1 + 4);
  });

  test("carry every dtype, any shape, and arrays in the middle of an allocation", async () => {
    await using cuda = await machine();
    await using server = await serve(cuda, "echo");
    const { client } = await exchange(cuda, server, "dtypes");
    expect(opened(cuda, server.pid)).toBe(1 + 4 * 14);
    expect(opened(cuda, client)).toBe(1 + 4 * 14);
  });

  test("carry empty arrays, which need no memory and no handle", async () => {
    await using cuda = await machine();
    await using server = await serve(cuda, "echo");
    const { client } = await exchange(cuda, server, "empties");
    expect(opened(cuda, server.pid)).toBe(1 + 1);
    expect(opened(cuda, client)).toBe(1 + 1);
  });

  test.each([
    ["both number alike", undefined, { float32: 0, int64: 1 }],
    ["the client numbers the other way round", "1,0", { float32: 1, int64: 0 }],
  ])("carry arrays on two devices that %s", async (_, visibleDevices, served) => {
    await using cuda = await machine({ devices: 2 });
    await using server = await serve(cuda, "echo");
    const { lines } = await exchange(cuda, server, "devices", visibleDevices === undefined ? {} : { visibleDevices });
    const { devices } = await cuda.status();
    const uuids = devices.map(({ uuid }) => uuid.replace("GPU-", ""));
    expect(lines[0]).toEqual({ served, uuids: visibleDevices === undefined ? uuids : [...uuids].reverse() });
  });

  test("find out by the check that a device isn't visible to both", async () => {
    await using cuda = await machine({ devices: 2 });
    await using server = await serve(cuda, "echo", { visibleDevices: "0" });
    const { exitCode, stderr } = await runClient(cuda, server, "devices", { visibleDevices: "1" });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/GPU with UUID [0-9a-f-]{36}, which this process cannot see/);
  });

  test("find out by the check that they are on different hosts, or in different PID namespaces", async () => {
    for (const [apart, why] of [
      [{ host: "elsewhere" }, /which this process cannot see/],
      [{ pidNamespace: "container" }, /cudaIpcOpenMemHandle failed: invalid device context/],
    ] as const) {
      await using cuda = await machine();
      await using server = await serve(cuda, "echo", apart);
      const { exitCode, stderr } = await runClient(cuda, server, "dtypes");
      expect(exitCode).toBe(1);
      expect(stderr).toMatch(why);
    }
  });

  test("stage memory that has no handle on the device", async () => {
    await using cuda = await machine();
    await using server = await serve(cuda, "rotate");
    const { client } = await exchange(cuda, server, "kinds");
    for (const pid of [client, server.pid]) {
      const { calls } = cuda.trace.filter({ pid, function: "cudaIpcGetMemHandle", failed: true });
      expect(calls.map(({ result }) => result)).toEqual([1, 1, 1, 1]); // two virtual, two of the pool
    }
  });
});
