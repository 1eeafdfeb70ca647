import { defineConfig } from "tsup";

export default defineConfig({
  entry: {
    index: "src/index.ts",
    "adapters/index": "src/adapters/index.ts",
    "message/index": "src/message/index.ts",
    "http/undici": "src/http/undici.ts",
    "http/fetch": "src/http/fetch.ts",
  },
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "neutral",
  external: ["#http", "undici"],
  dts: {
    entry: {
      index: "src/index.ts",
      "adapters/index": "src/adapters/index.ts",
      "message/index": "src/message/index.ts",
    },
  },
  sourcemap: true,
  clean: true,
});
