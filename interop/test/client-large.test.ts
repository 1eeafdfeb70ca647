// Arrays whose text is longer than any JavaScript string. With TESSERACT_LARGE=1, 1 GiB goes as base64 too, which takes
// the reference server a minute and 7 GB.

import { type HostArray, hostArray } from "@tesseract-ts/core";
import { expect, test } from "vitest";
import { connect } from "../src/connect.js";
import type { Identity } from "../src/fixture-types.js";
import { describeWithRuntime, sharedRuntimes } from "../src/with-runtime.js";

const MIB = 2 ** 20;
/** In base64, 416 MiB are 555 million characters; V8's longest string has 537 million. */
const base64Size = process.env.TESSERACT_LARGE === "1" ? 1024 * MIB : 416 * MIB;

const { identity } = sharedRuntimes({ identity: { fixture: "identity" } });

describeWithRuntime("1.15", "a large array", () => {
  test.each([
    { outputFormat: "json+binref", bytes: 1024 * MIB },
    { outputFormat: "json+base64", bytes: base64Size },
  ])("of $bytes bytes goes and comes in $outputFormat", { timeout: 600_000 }, async ({ outputFormat, bytes }) => {
    await using client = await connect<Identity>(identity(), { outputFormat });
    const sent = new Float64Array(bytes / 8);
    for (let i = 0; i < sent.length; i++) sent[i] = i + 0.5;
    const { arrays } = await client.apply({ arrays: [hostArray(sent)] });
    const received = arrays[0] as HostArray<"float64">;
    expect(received.shape).toEqual([sent.length]);
    let differing = 0;
    for (let i = 0; i < sent.length; i++) if (received.data[i] !== i + 0.5) differing++;
    expect(differing).toBe(0);
  });
});
