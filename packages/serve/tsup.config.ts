import { defineConfig } from "tsup";

const shared = {
  target: "es2022",
  platform: "node",
  external: [/^@tesseract-ts\//, "fastify", "pino", "esbuild", "prom-client", "@opentelemetry/api", "zod"],
} as const;

export default defineConfig([
  {
    ...shared,
    // Threads and worker processes begin with files of their own, beside the package's.
    entry: {
      index: "src/index.ts",
      cli: "src/cli/main.ts",
      thread: "src/thread.ts",
      "worker-process": "src/worker-process.ts",
      "serve-file": "src/start/serve-file.ts",
      guard: "src/start/guard.mjs",
      "engine-cleanup": "src/containers/engine-cleanup.mjs",
      "engine-end": "src/containers/engine-end.mjs",
      "run-in-network": "src/containers/run-in-network.mjs",
      "image-entry": "src/images/image-entry.ts",
    },
    format: ["esm"],
    dts: { entry: { index: "src/index.ts" } },
    clean: true,
  },
  // With shims for import.meta.url, by which those files are found. Its types are a copy (package.json): one file that names only
  // packages.
  { ...shared, entry: { index: "src/index.ts" }, format: ["cjs"], shims: true },
]);
