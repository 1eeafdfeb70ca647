import type { ArrayAdapter } from "../../src/adapters/adapter.js";
import { checkHostArray, type HostArray } from "../../src/arrays/host-array.js";

/** What an adapter makes of an array that it has to recognize; its promises about the outcome are checked. */
export async function read(adapter: ArrayAdapter, array: object): Promise<HostArray> {
  const adapted = adapter.adapt(array);
  if (adapted === undefined) throw new Error(`The adapter of ${adapter.name} doesn't recognize this array`);
  const host = await adapted.read();
  checkHostArray(host);
  if (host.dtype !== adapted.dtype || `${host.shape}` !== `${adapted.shape}`) {
    throw new Error(`Announced ${adapted.dtype} [${adapted.shape}], but read ${host.dtype} [${host.shape}]`);
  }
  return host;
}
