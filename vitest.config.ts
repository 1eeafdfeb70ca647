import { defineConfig } from "vitest/config";

// Tests run against the sources, by the packages' "source" condition; packaging tests run against what is built.
const resolve = { conditions: ["source", "node"] };

export default defineConfig({
  test: {
    // Vitest leaves one processor to itself; many of these tests wait for other processes.
    maxWorkers: 2,
    projects: [
      {
        resolve,
        ssr: { resolve: { conditions: ["source", "node"], externalConditions: ["source", "node"] } },
        test: {
          name: "unit",
          include: ["packages/*/test/**/*.test.ts"],
          // These need what is built in C++, and have configurations of their own.
          exclude: ["**/node_modules/**", "packages/cuda-simulator/**", "packages/transport-cuda-ipc/**"],
          // Much more than any needs, for machines that are busy with other things.
          testTimeout: 120_000,
          hookTimeout: 240_000,
        },
      },
      {
        resolve,
        ssr: { resolve: { conditions: ["source", "node"], externalConditions: ["source", "node"] } },
        test: {
          name: "interop",
          include: ["interop/test/**/*.test.ts"],
          testTimeout: 120_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
});
