import { defineConfig } from "vitest/config";

export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: ["source", "node"] },
  ssr: { resolve: { conditions: ["source", "node"], externalConditions: ["source", "node"] } },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    globalSetup: ["test/support/bundles.ts"],
  },
});
