// The suite that every transport must pass.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describeConformance, localSide, transportConformance } from "@tesseract-ts/testkit";
import { describe, test } from "vitest";
import { base64, binref, json } from "../src/index.js";

const runner = { describe, test };
const compressions = ["none", "lz4"] as const;

describeConformance(
  transportConformance({ name: "base64", compressions, create: () => ({ sender: base64(), receiver: base64() }) }),
  runner,
);

// What lists would lose goes as base64.
const jsonSide = () => localSide(json(), { others: [base64()] });
describeConformance(
  transportConformance({
    name: "json",
    largeBytes: 1 << 19,
    create: () => ({ sender: jsonSide(), receiver: jsonSide() }),
  }),
  runner,
);

describeConformance(
  transportConformance({
    name: "binref, from a client to a server",
    compressions,
    create() {
      const folder = mkdtempSync(join(tmpdir(), "tesseract-conformance-"));
      return {
        sender: binref({ inputPath: folder, outputPath: folder }),
        receiver: binref().atServer({ inputPath: folder, outputPath: folder, folder: "run" }),
        leftovers: () => readdirSync(folder),
        end: () => rmSync(folder, { recursive: true, force: true }),
      };
    },
  }),
  runner,
);
