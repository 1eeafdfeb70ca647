import { defineConfig } from "tsup";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    "base64/codec-node": "src/base64/codec-node.ts",
    "base64/codec": "src/base64/codec.ts",
    "binref/binref-node": "src/binref/binref-node.ts",
    "binref/binref": "src/binref/binref.ts",
  },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "neutral",
  external: [/^#/, /^node:/, "@tesseract-ts/core"],
  dts: { entry: { index: "src/index.ts" } },
  clean: true,
});
