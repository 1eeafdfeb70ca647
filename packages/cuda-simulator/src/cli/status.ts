/** `cuda-simulator status`: what the machines that run now hold. */
import { type MachineName, machines } from "../machine/shared-memory.js";
import { type MachineStatus, readStatus } from "../machine/status.js";
import { libraryFolder } from "../native/libraries.js";
import { bytesText, counted } from "../report/amounts.js";
import type { StatusRequest } from "./command-line.js";

/** @returns 0; 1 if the machine that was asked for isn't running */
export async function status({ machine, json }: StatusRequest, out: NodeJS.WritableStream): Promise<number> {
  const libraries = libraryFolder();
  const all = machines().filter((each) => machine === undefined || each.machine === machine);
  const states = await Promise.all(all.map(async (name) => ({ name, state: await readStatus(libraries, name) })));
  const running = states.filter(({ state }) => state.running);
  if (json) {
    out.write(`${JSON.stringify(running.map(({ name, state }) => ({ ...name, ...state })))}\n`);
  } else if (running.length === 0) {
    out.write(machine === undefined ? "No simulated machine is running.\n" : `The machine ${machine} isn't running.\n`);
  } else {
    for (const { name, state } of running) out.write(statusText(name, state));
  }
  return machine !== undefined && running.length === 0 ? 1 : 0;
}

export function statusText({ machine, host }: MachineName, state: MachineStatus): string {
  const lines = [`${machine}${host === undefined ? "" : ` on host ${host}`}`];
  for (const { index, uuid, memory, used } of state.devices) {
    lines.push(`  device ${index}  ${uuid}  ${bytesText(used)} of ${bytesText(memory)} in use`);
  }
  for (const { pid, alive } of state.processes) {
    const own = state.allocations.filter(({ owner, freed }) => owner === pid && !freed);
    const bytes = own.reduce((sum, each) => sum + each.bytes, 0);
    const gone = alive ? "" : ", killed";
    lines.push(`  process ${pid}${gone}: ${counted(own.length, "allocation")}, ${bytesText(bytes)}`);
  }
  if (state.hazards > 0) lines.push(`  ${counted(state.hazards, "hazard")}`);
  return `${lines.join("\n")}\n`;
}
