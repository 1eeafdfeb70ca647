/** The process that speaks to the driver: carries out checks and measurements, one after another. */
import { DeviceMemory, openDriver, probeDriver } from "@tesseract-ts/transport-cuda-ipc";
import { arrayChecks, driverChecks } from "./checks/arrays.js";
import type { Checks } from "./checks/check.js";
import { Exchange } from "./checks/exchange.js";
import { messageChecks } from "./checks/messages.js";
import { referenceChecks } from "./checks/reference.js";
import { measureSizes } from "./measure/sizes.js";
import { findPython, type Python, ReferenceServers } from "./reference.js";
import { messageOf, offer, tell } from "./remote.js";
import type { DriverFound, SizeRow } from "./results.js";

const checks: Checks = {
  driver: driverChecks,
  "device arrays": arrayChecks,
  "between two processes": messageChecks,
  "reference server": referenceChecks,
};

const asked = process.env.TESSERACT_GPU_PYTHON || undefined;
const servers = new ReferenceServers(asked, process.env);
let exchange: Promise<Exchange> | undefined;
const context = {
  servers,
  exchange: (): Promise<Exchange> => {
    exchange ??= Exchange.start(process.env);
    return exchange;
  },
};

export type WorkerNote = { readonly row: SizeRow; readonly bandwidth: number | undefined };

export const operations = {
  probe: async (): Promise<DriverFound | { readonly reason: string }> => {
    const found = await probeDriver();
    return found.ok ? { version: found.version, devices: found.devices } : { reason: `${found.reason}. ${found.hint}` };
  },

  python: (): Promise<Python> => findPython(asked, process.env),

  list: (): readonly (readonly [group: string, name: string])[] =>
    Object.entries(checks).flatMap(([group, members]) => Object.keys(members).map((name) => [group, name] as const)),

  check: async (group: string, name: string): Promise<string> => {
    const check = checks[group]?.[name];
    if (check === undefined) throw new Error(`There is no check ${group}: ${name}`);
    return check(context);
  },

  measure: async (most: number, until: number): Promise<void> => {
    const server = await servers.serve("libraries").catch((error: unknown) => ({ missing: messageOf(error) }));
    const between = await Exchange.start(process.env);
    const onRow = (row: SizeRow, bandwidth: number | undefined): void => tell({ row, bandwidth } satisfies WorkerNote);
    await measureSizes({ most, until, exchange: between, server, onRow });
    await between.leave();
  },

  /** Ends what was started, and gives back what is kept for reuse. */
  leave: async (): Promise<void> => {
    await servers.stop();
    await (await exchange?.catch(() => undefined))?.leave();
    const { devices } = await openDriver();
    await Promise.all(devices.map((device) => DeviceMemory.of(device).trim()));
  },
};

offer(operations);
