import { defineConfig } from "tsup";

export default defineConfig({
  entry: { index: "src/index.ts" },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "node",
  shims: true, // import.meta.url, by which the addon is found
  external: ["@tesseract-ts/core", "node-gyp-build"],
  dts: { entry: { index: "src/index.ts" } },
  clean: true,
});
