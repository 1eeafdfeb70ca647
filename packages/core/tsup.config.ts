import { defineConfig, type Options } from "tsup";

const all: Options = {
  format: ["esm", "cjs"],
  target: "es2022",
  platform: "neutral",
  external: ["#http", "#foreign-arrays", "#gpu-check", "#http-error", "#invalid-url", "undici"],
  esbuildOptions(options, { format }) {
    // In CommonJS, parts are loaded by `require` too: where `import()` is not at hand, as in Jest.
    if (format === "cjs") options.supported = { "dynamic-import": false };
  },
};

export default defineConfig([
  {
    ...all,
    entry: {
      index: "src/index.ts",
      "adapters/index": "src/adapters/index.ts",
      "message/index": "src/message/index.ts",
      "http/undici": "src/http/undici.ts",
      "http/fetch": "src/http/fetch.ts",
    },
    dts: {
      entry: {
        index: "src/index.ts",
        "adapters/index": "src/adapters/index.ts",
        "message/index": "src/message/index.ts",
      },
    },
    clean: true,
  },
  {
    // What is loaded when it is needed has all that it uses in it. If it shared modules with the rest, bundlers would cut the
    // rest into as many chunks as there are ways of sharing, which together are larger than what is saved.
    ...all,
    entry: {
      "message/foreign-arrays": "src/message/foreign-arrays.ts",
      "gpu-check": "src/gpu-check.ts",
      "message/http-error": "src/message/http-error.ts",
      "invalid-url": "src/invalid-url.ts",
    },
    splitting: false,
  },
]);
