// What addons are built for, and where each one lies: prebuildify's layout, which node-gyp-build reads.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const packageRoot = fileURLToPath(new URL("../../", import.meta.url));

/** The newest glibc whose symbols an addon may need: Debian 10, RHEL 8 and all that came later have it. */
export const GLIBC = "2.28";

/**
 * @typedef {object} Target
 * @property {string} name as the command line takes it
 * @property {"x64" | "arm64"} arch as Node calls it
 * @property {"glibc" | "musl"} libc
 * @property {"x86_64" | "aarch64"} machine as everybody else calls `arch`
 * @property {string} triple as Zig calls it
 */

/** @type {readonly Target[]} */
export const targets = ["glibc", "musl"].flatMap((libc) =>
  Object.entries({ x64: "x86_64", arm64: "aarch64" }).map(([arch, machine]) => ({
    name: `linux-${arch}-${libc}`,
    arch,
    libc,
    machine,
    triple: libc === "glibc" ? `${machine}-linux-gnu.${GLIBC}` : `${machine}-linux-musl`,
  })),
);

/**
 * The targets of these names; all if there are none.
 *
 * @param {readonly string[]} names
 */
export function targetsNamed(names) {
  const unknown = names.filter((name) => !targets.some((target) => target.name === name));
  if (unknown.length > 0) {
    const known = targets.map(({ name }) => name).join(", ");
    throw new Error(`There is no target ${unknown.join(", ")}: they are ${known}`);
  }
  return names.length === 0 ? targets : targets.filter(({ name }) => names.includes(name));
}

/** @param {Target} target */
export const prebuildOf = ({ arch, libc }) =>
  join(packageRoot, "prebuilds", `linux-${arch}`, `@tesseract-ts+transport-cuda-ipc.${libc}.node`);

const ownLibc = process.report.getReport().header.glibcVersionRuntime === undefined ? "musl" : "glibc";

/** Whether this process runs on the target. */
export const isOwn = ({ arch, libc }) => process.platform === "linux" && arch === process.arch && libc === ownLibc;
