import { defineConfig } from "vitest/config";
import { SLOWDOWN } from "./test/support/other-node.js";

export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: ["source", "node"] },
  ssr: { resolve: { conditions: ["source", "node"], externalConditions: ["source", "node"] } },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 120_000 * SLOWDOWN,
    hookTimeout: 240_000 * SLOWDOWN,
    maxWorkers: 2,
    globalSetup: ["test/support/bundles.ts"],
  },
});
