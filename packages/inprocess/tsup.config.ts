import { defineConfig } from "tsup";

const shared = {
  target: "es2022",
  platform: "node",
  external: ["@tesseract-ts/core", "zod", "tsx", "@jax-js/jax"],
  dts: true,
} as const;

export default defineConfig([
  { ...shared, entry: { index: "src/index.ts", jax: "src/jax/index.ts" }, format: ["esm"], clean: true },
  // jax-js is an ES module only.
  { ...shared, entry: { index: "src/index.ts" }, format: ["cjs"], shims: true },
]);
