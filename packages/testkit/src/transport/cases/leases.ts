/** Cases: leases, aborts, messages at the same time, sessions. */
import type { HostArray } from "@tesseract-ts/core";
import { anyArray, firstDifference } from "../../arrays.js";
import { demand } from "../../failure.js";
import type { ConformanceCase } from "../../suite.js";
import { type CaseContext, caseMaker } from "../case.js";
import { all, described, type Exchange } from "../exchange.js";
import { rules } from "../rules.js";
import type { Encoded, Outcome } from "../sides/side.js";

/** Turns of the event loop after which calls are aborted, one after the other. */
const TURNS = [0, 1, 2, 3, 5, 8, 13];
/** Messages that are under way at the same time. */
const AT_ONCE = 12;

const twoArrays = (seed: number): readonly HostArray[] => [
  anyArray("float64", [200], seed),
  anyArray("uint8", [33], seed + 100),
];

export function leaseCases(context: CaseContext): readonly ConformanceCase[] {
  const make = caseMaker(context);
  return [
    make(
      "lease-keeps",
      "a message can be read until its lease is released, whatever is sent meanwhile",
      async (exchange) => {
        const message = await exchange.encode(twoArrays(1));
        for (let seed = 2; seed < 6; seed++) await exchange.roundTrip(twoArrays(seed), { rule: rules.leaseKeeps });
        const decoded = await exchange.decode(message, {}, rules.leaseKeeps);
        exchange.compare(decoded.arrays, twoArrays(1), rules.leaseKeeps);
        await exchange.over(message, decoded);
      },
    ),
    make("lease-ends", "when its lease is released, nothing is left of a message", async (exchange) => {
      const read = await exchange.encode(twoArrays(1));
      const decoded = await exchange.decode(read);
      const unread = await exchange.encode(twoArrays(2));
      await exchange.over(read, decoded);
      await exchange.release(unread);
      await ended(exchange, "Once the leases of two messages are released");
    }),
    make("lease-once", "a lease that is released again does no harm to a later message", async (exchange) => {
      const first = await exchange.encode(twoArrays(1));
      const decoded = await exchange.decode(first);
      await exchange.over(first, decoded);
      const second = await exchange.encode(twoArrays(2));
      await exchange.release(first);
      await all([exchange.release(first), exchange.release(first)]);
      const later = await exchange.decode(second, {}, rules.leaseOnce);
      exchange.compare(later.arrays, twoArrays(2), rules.leaseOnce, " after an older lease was released again");
      await exchange.over(second, later);
    }),
    make("lease-order", "leases may end in any order", async (exchange) => {
      const messages: Encoded[] = [];
      for (let seed = 0; seed < 4; seed++) messages.push(await exchange.encode(twoArrays(seed)));
      for (const index of [2, 0, 3, 1]) {
        const message = messages[index] as Encoded;
        const decoded = await exchange.decode(message, {}, rules.leaseKeeps);
        exchange.compare(decoded.arrays, twoArrays(index), rules.leaseKeeps);
        await exchange.over(message, decoded);
      }
    }),
    make(
      "abandon",
      "an abandoned message gives a late reader itself or an error, and nothing is left",
      async (exchange) => {
        const message = await exchange.encode(twoArrays(1));
        if (!message.hasAbandon) {
          // Without it core keeps the lease until the other side can't be reading any more: then it is read, or released.
          await exchange.over(message, await exchange.decode(message));
          return;
        }
        await exchange.release(message, "abandon");
        const next = await exchange.encode(twoArrays(2));
        await lateReader(exchange, message, twoArrays(1));
        await exchange.release(message);
        const decoded = await exchange.decode(next, {}, rules.abandon);
        exchange.compare(decoded.arrays, twoArrays(2), rules.abandon, " after another message was abandoned");
        await exchange.over(next, decoded);
        await ended(exchange, "Once a message was abandoned", rules.abandon);
      },
    ),
    make("abort-encode", "encoding that is aborted leaves nothing, whenever it is", async (exchange) => {
      for (const abortAfter of TURNS) {
        const outcome = await exchange.sender.encode([...twoArrays(abortAfter), anyArray("uint8", [20_000], 1)], {
          abortAfter,
        });
        checkAborted(outcome, "Encoding");
        if (outcome.ok) await exchange.release(outcome.value);
      }
      await ended(exchange, "After aborted calls of encode", rules.abort);
      await exchange.roundTrip(twoArrays(50), { rule: rules.abort });
    }),
    make("abort-decode", "decoding that is aborted leaves nothing, whenever it is", async (exchange) => {
      for (const abortAfter of TURNS) {
        const message = await exchange.encode([...twoArrays(abortAfter), anyArray("uint8", [20_000], 1)]);
        const outcome = await exchange.receiver.decode(message, { abortAfter });
        checkAborted(outcome, "Decoding");
        if (outcome.ok) await exchange.receiver.dispose(outcome.value.id);
        await exchange.release(message);
      }
      await ended(exchange, "After aborted calls of decode", rules.abort);
      await exchange.roundTrip(twoArrays(50), { rule: rules.abort });
    }),
    make("concurrency", `${AT_ONCE} messages at the same time each bring their own arrays`, async (exchange) => {
      const seeds = Array.from({ length: AT_ONCE }, (_, index) => index);
      await all(
        seeds.map(async (seed) => {
          for (let round = 0; round < 3; round++) {
            await exchange.roundTrip(twoArrays(1000 * round + seed), { rule: rules.concurrency });
          }
        }),
      );
      const messages = await all(seeds.map((seed) => exchange.encode(twoArrays(seed))));
      await all(messages.filter((_, index) => index % 2 === 0).map((message) => exchange.release(message)));
      const rest = messages.filter((_, index) => index % 2 === 1);
      const decoded = await all(rest.map((message) => exchange.decode(message, {}, rules.concurrency)));
      for (const [index, { arrays }] of decoded.entries()) {
        exchange.compare(arrays, twoArrays(2 * index + 1), rules.concurrency);
      }
      await all(rest.map((message, index) => exchange.over(message, decoded[index])));
    }),
    make("session-headers", "what a peer says in headers breaks nothing", async (exchange) => {
      const names = new Set<string>(["tesseract-exports", "tesseract-peer"]);
      await exchange.roundTrip(twoArrays(1), { rule: rules.session });
      for (const side of [exchange.sender, exchange.receiver]) {
        for (const [name, value] of Object.entries(await side.headers())) {
          const legal = /^[a-z0-9!#$%&'*+.^_`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value);
          demand(
            legal,
            `The session's header ${JSON.stringify(name)} isn't legal: ${JSON.stringify(value)}`,
            rules.session,
          );
          names.add(name);
        }
      }
      const nonsense = [
        "",
        "*",
        ",,,",
        "a".repeat(5000),
        "../../etc/passwd",
        "0",
        "-1",
        "\u0000",
        "constructor,__proto__",
      ];
      for (const value of nonsense) {
        const headers = Object.fromEntries([...names].map((name) => [name, value]));
        exchange.expectTyped(await exchange.receiver.hear(headers), "receive() of strange headers", rules.session);
      }
      await exchange.roundTrip(twoArrays(2), { rule: rules.session });
    }),
    make(
      "session-close",
      "a lease may be released after the session has ended, and then nothing is left",
      async (exchange) => {
        const message = await exchange.encode(twoArrays(1));
        await exchange.takeLeave();
        exchange.expectDone(await exchange.sender.close(), "close() of a session", rules.session);
        await exchange.release(message);
        exchange.expectDone(await exchange.receiver.close(), "close() of a session", rules.session);
        await exchange.expectNothingLeft("After the session has ended and the last lease with it", rules.session);
      },
    ),
  ];
}

/** Sessions may keep what they like between messages; once they have ended nothing is kept. */
async function ended(exchange: Exchange, when: string, rule = rules.leaseEnds): Promise<void> {
  await exchange.takeLeave();
  for (const side of [exchange.sender, exchange.receiver]) {
    exchange.expectDone(await side.close(), "close() of a session", rules.session);
  }
  await exchange.expectNothingLeft(when, rule);
  for (const side of [exchange.sender, exchange.receiver]) await side.open();
}

async function lateReader(exchange: Exchange, message: Encoded, expected: readonly HostArray[]): Promise<void> {
  const late = await exchange.receiver.decode(message);
  exchange.expectTyped(late, "Reading an abandoned message", rules.abandon);
  if (!late.ok) return;
  const difference = firstDifference(late.value.arrays, expected);
  demand(difference === undefined, `A late reader got other bytes: ${difference}`, rules.abandon);
  await exchange.receiver.dispose(late.value.id);
}

function checkAborted<T>(outcome: Outcome<T>, what: string): void {
  if (outcome.ok) return;
  const { failure } = outcome;
  demand(
    failure.kind === "aborted",
    `${what} that was aborted failed with something else than the signal's reason: ${described(failure)}`,
    rules.abort,
  );
}
