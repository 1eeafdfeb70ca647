import { defineConfig } from "vitest/config";

export default defineConfig({
  root: import.meta.dirname,
  resolve: { conditions: ["source", "node"] },
  test: { include: ["test/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 240_000 },
});
