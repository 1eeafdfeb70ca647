/** The encodings that arrays may come in, by their names on the wire. */
import type { KnownTransport } from "../runner/contract.js";

export interface EncodingTraits {
  /** What a buffer is; null for any JSON value. */
  readonly form: RegExp | null;
  readonly compresses: boolean;
  /** Arrays in a GPU's memory are neither broadcast nor cast. */
  readonly onDevice: boolean;
}

export type Encodings = ReadonlyMap<string, EncodingTraits>;

const deviceUuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/** The reference's own. */
export const knownEncodings: Encodings = new Map([
  ["base64", { form: /^/, compresses: true, onDevice: false }],
  ["binref", { form: /^.+/, compresses: true, onDevice: false }],
  ["json", { form: null, compresses: false, onDevice: false }],
  ["cuda_ipc", { form: new RegExp(`^${deviceUuid}:[A-Za-z0-9+/=]*:\\d+:\\d+$`), compresses: false, onDevice: true }],
]);

/** With those of further transports, whose buffers only they can judge. */
export function encodingsOf(transports: readonly KnownTransport[]): Encodings {
  const encodings = new Map(knownEncodings);
  for (const { name, carries, aliases = [] } of transports) {
    // An alias of one of the reference's own is no array to the reference, and so to nobody.
    if (knownEncodings.has(name)) continue;
    const traits: EncodingTraits = { form: null, compresses: carries === "host", onDevice: carries === "device" };
    for (const known of [name, ...aliases]) encodings.set(known, traits);
  }
  return encodings;
}
