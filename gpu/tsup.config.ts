import { defineConfig } from "tsup";

// Runs on what is built: a bundle has no other node_modules than the packages' own.
export default defineConfig({
  entry: { main: "src/main.ts", worker: "src/worker.ts", peer: "src/peer.ts" },
  format: ["esm"],
  target: "node20",
  platform: "node",
  external: [/^@tesseract-ts\//],
  splitting: true,
  clean: true,
});
