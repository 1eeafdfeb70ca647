import cases from "./golden.json" with { type: "json" };
import { concat, fromBase64 } from "./support.js";

export interface Golden {
  readonly name: string;
  readonly frame: Uint8Array;
  readonly content: Uint8Array;
}

/** Frames written by Python's lz4 package; see make_golden.py. */
export const golden: readonly Golden[] = cases.map(({ name, frame, content }) => ({
  name,
  frame: fromBase64(frame),
  content: concat(content.flatMap(({ base64, repeat }) => new Array<Uint8Array>(repeat).fill(fromBase64(base64)))),
}));
