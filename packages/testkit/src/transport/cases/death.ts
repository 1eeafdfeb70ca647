/** Case: one side dies. */
import { anyArray, firstDifference } from "../../arrays.js";
import { demand } from "../../failure.js";
import type { ConformanceCase } from "../../suite.js";
import type { CaseContext } from "../case.js";
import { Exchange } from "../exchange.js";
import { rules } from "../rules.js";

export function deathCases({ options }: CaseContext): readonly ConformanceCase[] {
  const { createMortal } = options;
  if (createMortal === undefined) return [];
  return [
    {
      id: "death",
      name: "when the sender has died, the receiver gets the message or an error, and keeps nothing",
      async run() {
        const sides = await createMortal();
        try {
          const exchange = await Exchange.begin(sides);
          const arrays = [anyArray("float64", [500], 1), anyArray("uint8", [3], 2)];
          const before = await exchange.receiver.leftovers();
          const message = await exchange.encode(arrays);
          await sides.kill();
          const { receiver } = exchange;
          const outcome = await receiver.decode(message);
          exchange.expectTyped(outcome, "Reading the message of a side that has died", rules.death);
          if (outcome.ok) {
            const difference = firstDifference(outcome.value.arrays, arrays);
            demand(difference === undefined, `The receiver got other bytes: ${difference}`, rules.death);
          }
          await receiver.finish();
          const found = (await receiver.leftovers()).filter((each) => !before.includes(each));
          demand(found.length === 0, `The receiver has kept: ${found.slice(0, 5).join("; ")}`, rules.death);
        } finally {
          await sides.end?.();
        }
      },
    },
  ];
}
