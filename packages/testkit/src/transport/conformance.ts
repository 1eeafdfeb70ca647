/** The suite that every transport must pass. */
import type { ConformanceSuite } from "../suite.js";
import { nothingLeft } from "./case.js";
import { deathCases } from "./cases/death.js";
import { checkCases } from "./cases/device.js";
import { hostileCases } from "./cases/hostile.js";
import { leaseCases } from "./cases/leases.js";
import { messageCases } from "./cases/messages.js";
import type { TransportConformanceOptions } from "./options.js";

/**
 * The suite that every transport must pass, this project's own among them. Each case sends messages from one side to the
 * other as core does, as JSON text in pieces, and checks a rule of docs/write-a-transport.md.
 *
 * @example
 * import { describe, test } from "vitest";
 * import { describeConformance, transportConformance } from "@tesseract-ts/testkit";
 *
 * describeConformance(transportConformance({ name: "shm", create: () => ({ sender: sharedMemory() }) }), { describe, test });
 */
export function transportConformance(options: TransportConformanceOptions): ConformanceSuite {
  const context = { options, leftBehind: new Map<string, readonly string[]>() };
  return {
    name: `the transport "${options.name}"`,
    cases: [
      ...messageCases(context),
      ...leaseCases(context),
      ...hostileCases(context),
      ...checkCases(context),
      ...deathCases(context),
      nothingLeft(context),
    ],
  };
}
