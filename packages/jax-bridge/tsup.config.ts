import { defineConfig } from "tsup";

export default defineConfig({
  entry: { index: "src/index.ts" },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "neutral",
  external: [/^node:/, "@tesseract-ts/core", "@jax-js/jax"],
  dts: { entry: { index: "src/index.ts" } },
  clean: true,
  esbuildOptions(options, { format }) {
    // A program that is CommonJS has jax-js as CommonJS too: import() would give it a second copy of the library.
    if (format === "cjs") options.supported = { ...options.supported, "dynamic-import": false };
  },
});
