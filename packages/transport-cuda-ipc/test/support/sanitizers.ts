/** How the processes of tests use the sanitized addon (`npm run test:sanitized`); only they do, and not Vitest. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const isSanitized = Boolean(process.env.SANITIZED);

const folder = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), "build-sanitized");

/**
 * The environment variables for them; none without SANITIZED=1. The sanitizer's libraries have to be loaded before Node, and
 * the C++ library with them, or exceptions aren't followed. Node itself leaves no leaks to be suppressed.
 */
export function sanitizerVariables(): Readonly<Record<string, string>> {
  if (!isSanitized) return {};
  if (!existsSync(join(folder, "build/Release/cuda_ipc.node"))) {
    throw new Error("The sanitized addon isn't built: npm run build:native:sanitized");
  }
  const libraries = ["libasan.so", "libubsan.so", "libstdc++.so.6"].map((name) =>
    execFileSync("gcc", [`-print-file-name=${name}`], { encoding: "utf8" }).trim(),
  );
  return {
    // Where node-gyp-build looks for this package's addon.
    "@TESSERACT_TS/TRANSPORT_CUDA_IPC_PREBUILD": folder,
    LD_PRELOAD: libraries.join(" "),
    ASAN_OPTIONS: "detect_leaks=1:exitcode=99",
    UBSAN_OPTIONS: "print_stacktrace=1:halt_on_error=1:exitcode=99",
  };
}
