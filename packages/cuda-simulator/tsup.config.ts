import { defineConfig } from "tsup";

const both = { target: "es2022", platform: "node" } as const;

export default defineConfig([
  {
    ...both,
    entry: { index: "src/index.ts" },
    format: ["esm", "cjs"],
    shims: true, // import.meta.url, by which the libraries are found
    dts: { entry: { index: "src/index.ts" } },
    clean: ["!cli/**"],
  },
  { ...both, entry: { main: "src/cli/main.ts" }, outDir: "dist/cli", format: ["esm"], clean: true },
]);
