/** Cases: the check of transports for GPU arrays. */

import { anyArray } from "../../arrays.js";
import { demand } from "../../failure.js";
import { randomNumbers } from "../../random.js";
import type { ConformanceCase } from "../../suite.js";
import { type CaseContext, caseMaker } from "../case.js";
import { all, type Exchange } from "../exchange.js";
import { rules } from "../rules.js";
import { textOfTree, treeOf } from "../text.js";

/** As many as the check of a connection has. */
const CHECK_BYTES = 256;

const randomBytes = (seed: number): Uint8Array => {
  const next = randomNumbers(seed);
  return Uint8Array.from({ length: CHECK_BYTES }, () => Math.floor(next() * 256));
};

/** For device transports only; others have no check. */
export function checkCases(context: CaseContext): readonly ConformanceCase[] {
  if (context.options.carries !== "device") return [];
  const make = caseMaker(context);
  return [
    make("check", "its check carries bytes both ways", async (exchange) => {
      await checked(exchange, 1);
      await checked(exchange, 2, true);
      await exchange.takeLeave();
      for (const side of [exchange.sender, exchange.receiver]) await side.close();
      await exchange.expectNothingLeft("After a check", rules.check);
    }),
    make("check-apart", "a check and messages at the same time don't know of each other", async (exchange) => {
      const arrays = [anyArray("uint8", [CHECK_BYTES], 1), anyArray("float64", [1000], 2)];
      await all([1, 2, 3, 4].flatMap((seed) => [checked(exchange, seed), exchange.roundTrip(arrays)]));
    }),
    make("check-hostile", "what is no check's array is refused by it", async (exchange) => {
      const message = await exchange.expectDone(
        await exchange.sender.encodeCheck(randomBytes(1)),
        "encodeCheck()",
        rules.check,
      );
      const [array] = treeOf(message.text, 1 << 20) as readonly Readonly<Record<string, unknown>>[];
      const data = array?.data as Readonly<Record<string, unknown>>;
      for (const variant of [
        { ...array, shape: [2 ** 30] },
        { ...array, data: { ...data, buffer: null } },
        { ...array, data: { ...data, buffer: "garbage" } },
        { ...array, data: { ...data, buffer: String(data.buffer).slice(0, -4) } },
      ]) {
        const outcome = await exchange.receiver.decodeCheck({ text: await textOfTree([variant]), headers: {} });
        demand(!outcome.ok, `The check accepted ${JSON.stringify(variant).slice(0, 200)}`, rules.check);
        exchange.expectTyped(outcome, "decodeCheck() of a wrong array", rules.check);
      }
      await exchange.release(message);
    }),
  ];
}

async function checked(exchange: Exchange, seed: number, back = false): Promise<void> {
  const [from, to] = back ? [exchange.receiver, exchange.sender] : [exchange.sender, exchange.receiver];
  const bytes = randomBytes(seed);
  const message = exchange.expectDone(await from.encodeCheck(bytes), "encodeCheck()", rules.check);
  const found = exchange.expectDone(await to.decodeCheck(message), "decodeCheck()", rules.check);
  const same = found.length === bytes.length && found.every((byte, index) => byte === bytes[index]);
  demand(same, "A check brought other bytes than were sent", rules.check);
  exchange.expectDone(await from.endLease(message.id, "release"), "release() of a check's lease", rules.leaseOnce);
}
