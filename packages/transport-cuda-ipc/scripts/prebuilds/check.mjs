// Whether an addon will load wherever it is meant to: its architecture, its C library, and nothing of Node but N-API.

import { readFileSync } from "node:fs";
import { readElf } from "./elf.mjs";
import { GLIBC, prebuildOf } from "./targets.mjs";

/** What a system has by itself. The C++ library isn't among it: it is part of the addon. */
const LIBRARIES = {
  glibc: /^(lib(c|m|dl|pthread)\.so\.\d+|ld-linux-(x86-64|aarch64)\.so\.\d+)$/,
  musl: /^libc(\.musl-\w+)?\.so(\.\d+)?$/,
};

const OF_NODE_API = /^(napi|node_api)_/;
/** What an addon must not need: names of C++, as V8's are, and of libuv. */
const FOREIGN = /^(_Z|uv_)/;

/** What makes an addon of a few hundred kilobytes too large to be stripped, in bytes. */
const LARGEST = 1024 * 1024;

/**
 * @param {import("./targets.mjs").Target} target
 * @returns {{ bytes: number, glibc: string | undefined, problems: readonly string[] }} `glibc` is the newest that it needs
 */
export function checkPrebuild(target) {
  const file = readFileSync(prebuildOf(target));
  const elf = readElf(file);
  const newest = elf.versions
    .map(glibcOf)
    .filter((version) => version !== undefined)
    .sort(byNumbers)
    .at(-1);
  const problems = [];
  const expect = (good, problem) => {
    if (!good) problems.push(problem);
  };
  expect(elf.machine === target.machine, `it is for ${elf.machine}`);
  expect(elf.stripped, "it isn't stripped");
  expect(file.length <= LARGEST, `it has ${file.length} bytes, and ${LARGEST} are allowed`);
  for (const library of elf.libraries) expect(LIBRARIES[target.libc].test(library), `it needs ${library}`);
  if (target.libc === "glibc") {
    expect(newest !== undefined, "it needs no glibc");
    expect(newest === undefined || byNumbers(newest, GLIBC) <= 0, `it needs glibc ${newest}, newer than ${GLIBC}`);
  } else {
    expect(elf.versions.length === 0, `it needs versions of symbols: ${elf.versions.join(", ")}`);
  }
  const foreign = elf.imports.filter((name) => FOREIGN.test(name));
  expect(foreign.length === 0, `it needs more of Node than N-API: ${foreign.join(", ")}`);
  expect(
    elf.imports.some((name) => OF_NODE_API.test(name)),
    "it needs nothing of N-API",
  );
  expect(elf.exports.includes("napi_register_module_v1"), "it offers no napi_register_module_v1");
  return { bytes: file.length, glibc: newest, problems };
}

const glibcOf = (version) => /^GLIBC_([\d.]+)$/.exec(version)?.[1];

/** Orders `2.4` before `2.28`. */
function byNumbers(a, b) {
  const [left, right] = [a, b].map((version) => version.split(".").map(Number));
  const index = left.findIndex((part, i) => part !== (right[i] ?? 0));
  return index < 0 ? left.length - right.length : left[index] - (right[index] ?? 0);
}
