// What docs/containers.md says that doctor says: `tesseract-ts doctor` prints each of the lines in its tables, in the situation that
// the page names, and the sources have no line that isn't there.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Fault, RunOptions } from "@tesseract-ts/cuda-simulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSaidIn, type Places, rows, sentencesOf } from "../src/documentation/doctor-lines.js";
import { DoctorServers, oldDriver, type Place } from "../src/documentation/doctor-servers.js";
import { repositoryRoot } from "../src/python.js";
import { describeOnSimulator, shared } from "../src/simulated.js";
import { describeWithRuntime } from "../src/with-runtime.js";

const program = join(repositoryRoot, "packages/serve/dist/cli.js");
const beside = (name: string): string => fileURLToPath(new URL(`../src/${name}`, import.meta.url));
const file = beside("documentation/on-gpu.mjs");
const withoutCudaIpc = `--import=${beside("documentation/without-cuda-ipc.mjs")}`;
const withoutAddon = { PREBUILDS_ONLY: "1", npm_config_arch: "ia32" };
const always = (call: string, code: number): Fault => ({ call, nth: "every", code });
const ofMacOs = '--import=data:text/javascript,Object.defineProperty(process,"platform",{value:"darwin"})';

/** Much more than any needs, for machines that are busy with other things. */
const LIMIT_MS = 300_000;

/** What doctor is run with. */
interface Situation {
  /** The parts of the tables that it is to print. */
  readonly says: readonly string[];
  /** A target, of those that are served. */
  readonly at: Place | "a file";
  readonly client?: RunOptions;
  /** The library that is loaded as the driver, or what makes it in a folder. */
  readonly driver?: string | ((folder: string) => Promise<string>);
  readonly more?: readonly string[];
  readonly node?: readonly string[];
}

/** All on one simulated machine, but for those whose client is in another namespace, or whose driver is none. */
const situations: readonly Situation[] = [
  { says: ["a small array went to the Tesseract's GPU and back"], at: "reference" },
  { says: ['This Tesseract doesn\'t offer gpuTransport "…"'], at: "withoutTransport" },
  { says: ["(1.13 or 1.14) numbers GPUs by ordinal"], at: "of113" },
  { says: ["is older than 1.13"], at: "of112" },
  { says: ["There is no CUDA driver"], at: "reference", driver: "libnowhere.so.9" },
  { says: ["The CUDA driver sees no device"], at: "reference", client: { visibleDevices: "" } },
  { says: ["The CUDA driver is too old"], at: "reference", driver: oldDriver },
  { says: ["isn't a whole CUDA driver"], at: "reference", driver: "libm.so.6" },
  { says: ["The CUDA driver can't be used"], at: "reference", client: { faults: [always("cuInit", 999)] } },
  { says: ["The native addon of … can't be loaded"], at: "reference", client: { env: withoutAddon } },
  { says: ["on Linux only"], at: "reference", node: [ofMacOs] },
  { says: ['The server can\'t use "…"'], at: "oursWithoutDriver" },
  { says: ["Could not find CUDA runtime library"], at: "referenceWithoutDriver" },
  { says: ["which this process cannot see"], at: "reference", client: { visibleDevices: [1] } },
  {
    says: ["which this process can't see", "could not exchange GPU memory with the client"],
    at: "ours",
    client: { visibleDevices: [1] },
  },
  { says: ["invalid device context"], at: "reference", client: { pidNamespace: "another" } },
  { says: ["invalid argument", "this process could not read the server's array"], at: "inventing" },
  {
    says: ["out of memory", "this process could not export an array"],
    at: "reference",
    client: { faults: [always("cuMemAlloc", 2)] },
  },
  { says: ['"check_gpu_transport" at … doesn\'t exist'], at: "filtering" },
  { says: ["The answer to the check of a GPU transport isn't one"], at: "answeringElse" },
  { says: ["the array that the server exported has other bytes"], at: "answeringAgain" },
  { says: ["cuda_ipc, here: … can't be loaded"], at: "reference", node: [withoutCudaIpc] },
  {
    says: ['No transport was passed for gpuTransport "…"', "… was asked for, and doesn't work"],
    at: "reference",
    more: ["--gpu-transport", "mine"],
  },
  { says: ["cuda_ipc, at the Tesseract: …"], at: "a file", more: ["--env", `NODE_OPTIONS=${withoutCudaIpc}`] },
];

const says = rows.flatMap((row) => row.says);

test("the tables are found, and each of their lines is provoked below", () => {
  expect(says.length).toBeGreaterThan(25);
  expect([...says].sort()).toEqual(situations.flatMap((situation) => situation.says).sort());
});

describe("no line that the sources have is missing", () => {
  const places: readonly Places[] = [
    { file: "packages/serve/src/cli/commands/doctor.ts", named: ["what"] },
    { file: "packages/transport-cuda-ipc/src/driver/probe.ts", named: ["reason"], calls: { refusal: 1 } },
    { file: "packages/core/src/gpu-check.ts", named: ["reason"], calls: { failure: 0, TesseractError: 1 } },
    {
      file: "packages/core/src/encoding.ts",
      calls: { TesseractError: 1 },
      within: ["fitToServer", "fitToOldServer", "requireOffered"],
    },
    { file: "packages/serve/src/exchange/check.ts", calls: { refused: 0 } },
    { file: "packages/serve/src/start/gpu-transports.ts", calls: { TesseractError: 1 } },
  ];
  /** Those that say nothing that somebody has to do something about, or that this project's two sides never say to each other. */
  const elsewhere: readonly (readonly [sentence: RegExp, reason: string])[] = [
    [/^a Tesseract that is being served$|^a container image, /, "the help's examples"],
    [/^Node … on |^The Tesseract answers|^Through the host: |^Compressions: |^GPU transports that/, "what is there"],
    [/^GPU arrays (stay|go)|^No GPU transport is asked for/, "how it ends"],
    [/^…, (here|at the Tesseract): …$|^… can't be loaded: …$/, "doctor puts its name before it"],
    [/^…: (not offered|this process can't use it|the two sides can't exchange arrays by it|…$)/, "a reason follows"],
    [/^This Tesseract doesn't offer … "…"$/, "the option is gpuTransport"],
    [/^the server gave no reason$|^There is no array$|^The array isn't (one|encoded)/, "a peer that isn't one"],
    [/^The client's array has other bytes/, "the other side of 'the server exported'"],
    [/^The GPU transport … isn't enabled here/, "what is not offered isn't asked for"],
    [/^…: no package has it$/, "no name of a transport that is no device's gets there"],
  ];

  test.each(places)("$file", async (place) => {
    const sentences = await sentencesOf(place);
    expect(sentences.length).toBeGreaterThan(1);
    const missing = sentences.filter(
      ({ text }) => !says.some((part) => isSaidIn(text, part)) && !elsewhere.some(([known]) => known.test(text)),
    );
    expect(missing).toEqual([]);
  });
});

/** What it prints as JSON. */
interface Diagnosis {
  readonly findings: readonly { readonly state: "ok" | "no" | "info"; readonly what: string; readonly hint?: string }[];
  readonly checks: readonly { readonly outcome: string }[];
}

describeOnSimulator("doctor says so (simulated)", () => {
  describeWithRuntime("1.15", "of the reference and of this project's servers", () => {
    const machine = shared({ devices: 2 }, async ({ cuda, serve }) => {
      const [reference, withoutDriver] = await Promise.all([
        serve("rotate", { visibleDevices: [0] }),
        serve("rotate", {}, { env: { LD_LIBRARY_PATH: "" } }),
      ]);
      return { cuda, references: [reference.url, withoutDriver.url] as const };
    });
    let folder: string;
    let servers: DoctorServers;
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "tesseract-doctor-"));
      servers = await DoctorServers.start(machine().cuda, machine().references);
    }, LIMIT_MS);
    afterAll(async () => {
      await servers?.end();
      await rm(folder, { recursive: true, force: true });
    });

    async function diagnosis({ at, driver, client, node = [], more = [] }: Situation): Promise<Diagnosis> {
      const library = typeof driver === "function" ? await driver(folder) : driver;
      const { stdout, stderr } = await machine().cuda.run(
        process.execPath,
        [...node, program, "doctor", at === "a file" ? file : servers[at], "--json", ...more],
        { ...client, cwd: folder, env: { ...client?.env, TESSERACT_CUDA_DRIVER: library } },
      );
      if (stdout === "") throw new Error(stderr);
      return JSON.parse(stdout);
    }

    test.concurrent.each(situations)("$says.0", { timeout: LIMIT_MS }, async (situation) => {
      // A second look at what has been looked at before.
      if (situation.at === "answeringAgain") await diagnosis(situation);
      const { findings, checks } = await diagnosis(situation);
      const lines = findings.filter(({ state }) => state !== "info");
      for (const part of situation.says) {
        expect(
          lines.filter(({ what }) => isSaidIn(what, part)),
          `${part}: ${JSON.stringify(findings, null, 2)}`,
        ).toHaveLength(1);
        const { outcome } = rows.find((row) => row.says.includes(part)) ?? {};
        if (outcome !== "") expect(checks.map((check) => check.outcome)).toEqual([outcome]);
      }
      // Whatever else it has against the transport is in the tables, too.
      const unknown = lines.filter(({ state, what }) => state === "no" && !says.some((part) => isSaidIn(what, part)));
      expect(unknown).toEqual([]);
      // The verdict's is the line above it.
      const failures = lines.filter(({ state, what }) => state === "no" && !what.endsWith("and doesn't work"));
      expect(failures.filter(({ hint }) => hint === undefined)).toEqual([]);
    });
  });
});
