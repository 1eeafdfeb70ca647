import { defineConfig } from "tsup";

export default defineConfig({
  // Threads and worker processes begin with files of their own, beside the package's.
  entry: { index: "src/index.ts", thread: "src/thread.ts", "worker-process": "src/worker-process.ts" },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "node",
  // For import.meta.url in CommonJS.
  shims: true,
  external: [/^@tesseract-ts\//, "fastify", "pino", "prom-client", "@opentelemetry/api", "zod"],
  dts: { entry: { index: "src/index.ts" } },
  sourcemap: true,
  clean: true,
});
