/** A case of the transports' suite. */
import { ConformanceError } from "../failure.js";
import type { ConformanceCase } from "../suite.js";
import { Exchange } from "./exchange.js";
import type { Sides, TransportConformanceOptions } from "./options.js";
import { rules } from "./rules.js";

/** What cases leave behind that isn't their own subject; the last case tells. */
export type LeftBehind = Map<string, readonly string[]>;

export interface CaseContext {
  readonly options: TransportConformanceOptions;
  readonly leftBehind: LeftBehind;
}

/** Makes cases that begin with new sides, end all that is left, and look whether that was enough. */
export const caseMaker =
  ({ options, leftBehind }: CaseContext) =>
  (
    id: string,
    name: string,
    body: (exchange: Exchange) => Promise<void>,
    create: () => Sides | Promise<Sides> = () => options.create(),
  ): ConformanceCase => ({
    id,
    name,
    async run() {
      const sides = await create();
      let exchange: Exchange | undefined;
      try {
        exchange = await Exchange.begin(sides);
        await body(exchange);
        await exchange.takeLeave();
        await exchange.finish();
        const found = await exchange.leftovers();
        if (found.length > 0) leftBehind.set(name, found);
      } finally {
        await exchange?.finish();
        await sides.end?.();
      }
    },
  });

/** The last case: no other has left anything. */
export const nothingLeft = ({ leftBehind }: CaseContext): ConformanceCase => ({
  id: "nothing-left",
  name: "nothing is left of any of the cases above",
  async run() {
    const [first] = leftBehind;
    if (first === undefined) return;
    const [name, found] = first;
    throw new ConformanceError(
      `Of the case "${name}"${leftBehind.size > 1 ? ` and ${leftBehind.size - 1} more` : ""}, this is left: ${found.slice(0, 5).join("; ")}`,
      rules.leftovers,
    );
  },
});
