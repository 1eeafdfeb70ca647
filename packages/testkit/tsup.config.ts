import { defineConfig } from "tsup";

export default defineConfig({
  entry: { index: "src/index.ts" },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "node",
  external: [/^@tesseract-ts\//],
  dts: true,
  clean: true,
});
