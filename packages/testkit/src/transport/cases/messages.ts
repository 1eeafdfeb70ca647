/** Cases: what a transport says of itself, and what crosses. */
import { type DType, dtypes, type HostArray } from "@tesseract-ts/core";
import { anyArray, arrayWithin } from "../../arrays.js";
import { demand } from "../../failure.js";
import type { ConformanceCase } from "../../suite.js";
import { type CaseContext, caseMaker } from "../case.js";
import { described } from "../exchange.js";
import { rules } from "../rules.js";

/** More than any message of a test needs, to see that order and number are kept. */
const MANY = 300;

/** One of each kind of shape: a scalar, none, one, a few, several dimensions. */
const shapes: readonly (readonly number[])[] = [[], [0], [0, 3], [1], [5], [2, 3, 4], [1, 1, 2]];

export const sampleOf = (dtype: DType, seed = 1): readonly HostArray[] =>
  shapes.map((shape, index) => anyArray(dtype, shape, seed + index));

export function messageCases(context: CaseContext): readonly ConformanceCase[] {
  const { carries = "host", compressions = ["none"], largeBytes = 1 << 22 } = context.options;
  const make = caseMaker(context);
  /** Not a whole number of pages, blocks or base64 groups. */
  const large = anyArray("float64", [Math.ceil(largeBytes / 8) + 1], 7);
  return [
    make("identity", "it has a legal name, says what it carries and how far it reaches", async ({ about }) => {
      const { name, reach } = about;
      const legal = typeof name === "string" && /^[a-z0-9][a-z0-9_-]*$/.test(name);
      demand(legal, `Its name is ${JSON.stringify(name)}`, rules.identity);
      demand(
        about.carries === carries,
        `It carries ${JSON.stringify(about.carries)}, not "${carries}"`,
        rules.identity,
      );
      const reaches = reach === "process" || reach === "host" || reach === "network";
      demand(reaches, `It reaches ${JSON.stringify(reach)}`, rules.identity);
    }),
    make("probe", "its probe says that it can be used here", async ({ sender, receiver }) => {
      for (const side of [sender, receiver]) {
        const outcome = await side.probe();
        demand(outcome.ok, `probe() failed${outcome.ok ? "" : `: ${described(outcome.failure)}`}`, rules.probe);
        const { value } = outcome;
        demand(typeof value?.ok === "boolean", "probe() gives no `ok`", rules.probe);
        if (!value.ok) demand(typeof value.reason === "string", "probe() gives no reason", rules.probe);
        demand(value.ok, `It can't be used here${value.ok ? "" : `: ${value.reason}`}`, rules.probe);
      }
    }),
    ...dtypes.map((dtype) =>
      make(`dtype-${dtype}`, `${dtype} arrives with every bit, in any shape`, (exchange) =>
        exchange.roundTrip(sampleOf(dtype)),
      ),
    ),
    make("many", `a message of ${MANY} arrays arrives in order`, (exchange) =>
      exchange.roundTrip(
        Array.from({ length: MANY }, (_, index) =>
          anyArray(dtypes[index % dtypes.length] as DType, index % 3 === 0 ? [] : [index % 7], index),
        ),
      ),
    ),
    make("large", "a large array arrives, between small ones", (exchange) =>
      exchange.roundTrip([anyArray("int8", [3], 1), large, anyArray("int8", [5], 2)]),
    ),
    make("within", "an array in the middle of larger memory arrives alone", (exchange) =>
      exchange.roundTrip(dtypes.map((dtype, index) => arrayWithin(dtype, [3, index], index))),
    ),
    ...(carries === "device"
      ? [
          make("strided", "an array with strides of its own arrives in C order", (exchange) =>
            exchange.roundTrip(
              [[4, 3], [2, 3, 5], [7]].map((shape, index) => anyArray("float64", shape, index)),
              { strided: true },
            ),
          ),
        ]
      : []),
    make("empty", "a message without arrays is one too", async (exchange) => {
      await exchange.roundTrip([]);
      await exchange.roundTrip([]);
    }),
    make("twice", "an array may stand in a message twice", async (exchange) => {
      const array = anyArray("float32", [9], 4);
      await exchange.roundTrip([array, array, anyArray("float32", [9], 5), array]);
    }),
    make("pieces", "a message arrives whatever pieces its text comes in", async (exchange) => {
      await exchange.roundTrip([anyArray("float64", [30], 1), anyArray("int8", [7], 2)], { pieces: 1 });
      for (const pieces of [13, 1000]) {
        await exchange.roundTrip([anyArray("float64", [700], 3), anyArray("uint8", [5000], 4)], { pieces });
      }
    }),
    make(
      "after-each-other",
      "one message after the other arrives, of the same and of other sizes",
      async (exchange) => {
        for (const [index, size] of [1000, 1000, 10, 5000, 1000, 0, 1000].entries()) {
          await exchange.roundTrip([anyArray("int32", [size], index)]);
        }
      },
    ),
    ...(compressions.includes("lz4")
      ? [
          make("compressed", "what is asked to be compressed arrives with every bit", async (exchange) => {
            const options = { compression: "lz4" } as const;
            for (const dtype of dtypes) await exchange.roundTrip(sampleOf(dtype), options);
            const even = anyArray("uint8", [100_000], 1);
            even.data.fill(7 as never);
            await exchange.roundTrip([even, large], options);
          }),
        ]
      : []),
    make("inputs", "the arrays that are encoded stay as they are", async (exchange) => {
      const arrays = dtypes.map((dtype, index) => arrayWithin(dtype, [40], index));
      const message = await exchange.encode(arrays);
      const decoded = await exchange.decode(message);
      const changed = await exchange.sender.changedInput(message.id);
      demand(changed === undefined, `encode changed an array: ${changed}`, rules.inputs);
      await exchange.over(message, decoded);
    }),
    make(
      "results",
      "the arrays that arrive share no memory, with each other or with what was sent",
      async (exchange) => {
        const arrays = [1, 2, 3].map((seed) => anyArray("uint16", [50], seed));
        const message = await exchange.encode(arrays);
        const decoded = await exchange.decode(message);
        const first = decoded.arrays.slice(1).map((array) => structuredClone(array) as HostArray);
        await exchange.receiver.overwrite(decoded.id);
        const after = await exchange.receiver.read(decoded.id);
        exchange.compare(after.slice(1), first, rules.results, " once another array that came was written to");
        const changed = await exchange.sender.changedInput(message.id);
        demand(changed === undefined, `Writing to what came changes what was sent: ${changed}`, rules.results);
        await exchange.over(message, decoded);
      },
    ),
    make(
      "results-stay",
      "the arrays that arrive stay, when the message is over and others have come",
      async (exchange) => {
        const arrays = [1, 2].map((seed) => anyArray("float64", [300], seed));
        const message = await exchange.encode(arrays);
        const decoded = await exchange.decode(message);
        const came = structuredClone(decoded.arrays) as readonly HostArray[];
        await exchange.release(message);
        for (let seed = 10; seed < 14; seed++) await exchange.roundTrip([anyArray("float64", [300], seed)]);
        exchange.compare(
          await exchange.receiver.read(decoded.id),
          came,
          rules.results,
          " any more, after other messages",
        );
        await exchange.receiver.dispose(decoded.id);
      },
    ),
  ];
}
