// `npm test`: everything that is checked, here and in CI. The last line counts it all.

import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildAddons } from "./setup/builds.mjs";
import { interrupted, main, SetupError } from "./setup/child.mjs";
import { remove } from "./setup/fingerprint.mjs";
import { bytecode, root } from "./setup/paths.mjs";
import { bold, say, yellow } from "./setup/progress.mjs";
import { PythonMissing } from "./setup/python.mjs";
import { ALL_RUNTIMES, setup } from "./setup.mjs";
import { buildSite, lint, typecheck } from "./test/checks.mjs";
import { CHROMIUM_MISSING, findChromium } from "./test/chromium.mjs";
import { testCudaIpc } from "./test/cuda-ipc.mjs";
import { installNode, otherNodes } from "./test/nodes.mjs";
import { buildSimulator, testSimulator } from "./test/simulator.mjs";
import { Tally } from "./test/tally.mjs";
import { runVitest } from "./test/vitest.mjs";

const HELP = `npm test                      lint, types, and all tests, on Node 20, 22, 24 and 26
npm test -- --quick           the same on the running Node only
npm test -- simulator         the CUDA simulator's tests only
npm test -- core dtype        the test files whose path has one of these, on the running Node; no lint, no types
npm test -- core -t "empty"   options are Vitest's (npx vitest --help)

Makes what it needs first. Outside CI, tests that need a Python, a Chromium or a C++ compiler that isn't there are skipped; in CI
they fail.`;

/** The tests with peers that run on each Node: what others find out is about the peer, the harness or the machine's memory. */
const ON_EACH_NODE = [
  "client-concurrency",
  "client-endpoints",
  "client-errors",
  "client-trees",
  "packaging",
  "start-source",
];

const inCi = Boolean(process.env.CI);
const args = process.argv.slice(2);
const quick = args.includes("--quick");
const forVitest = args.filter((arg) => arg !== "--quick");

await main(async () => {
  if (args.includes("--help") || args.includes("-h")) {
    console.log(HELP);
    return 0;
  }
  const tally = new Tally();
  try {
    await test(tally);
  } catch (error) {
    if (interrupted.aborted || !(error instanceof SetupError)) throw error;
    say(error.message);
    tally.fail("setup");
  }
  tally.print();
  return tally.failed === 0 ? 0 : 1;
});

async function test(tally) {
  await setupForTests();
  const onSimulator = await buildSimulator(tally);
  if (forVitest.length === 1 && forVitest[0] === "simulator") return onSimulator ? testSimulator(tally) : undefined;
  const chromium = findChromium();
  if (chromium === undefined) {
    if (inCi) tally.fail(CHROMIUM_MISSING);
    else say(`  ${yellow("!")} ${CHROMIUM_MISSING}. The tests in a browser are skipped.`);
  }
  const env = chromium === undefined ? {} : { TESSERACT_CHROMIUM: chromium };

  if (forVitest.length === 0) {
    await lint(tally);
    await typecheck(tally);
  }
  const running = `Node ${process.versions.node}`;
  say(bold(`\nTests on ${running}`));
  await runVitest(tally, { node: process.execPath, name: running, args: forVitest, env });
  if (forVitest.length > 0) return;
  if (onSimulator) {
    await testCudaIpc(tally, { node: process.execPath, name: running });
    await testSimulator(tally);
  }
  if (quick) return;
  // A minute, and an installation of its own.
  if (inCi) await buildSite(tally);
  for (const version of otherNodes()) await testOn(version, tally, { env, onSimulator });
}

/** Outside CI, what needs no Python can be tested without one. */
async function setupForTests() {
  // What Python compiled of earlier tests' temporary folders.
  remove(join(bytecode, tmpdir()));
  try {
    await setup({ runtimes: ALL_RUNTIMES });
  } catch (error) {
    if (inCi || !(error instanceof PythonMissing)) throw error;
    say(`  ${yellow("!")} ${error.message} The tests that need it are skipped.`);
    await setup({ runtimes: [] });
  }
  await buildAddons();
}

async function testOn(version, tally, { env, onSimulator }) {
  const name = `Node ${version}`;
  let node;
  try {
    node = await installNode(version);
  } catch (error) {
    if (interrupted.aborted || !(error instanceof SetupError)) throw error;
    if (inCi) {
      say(error.message);
      tally.fail(`${name} could not be installed`);
    } else tally.skip("all tests", `${name} could not be installed: ${error.message.trim().split("\n").at(-1)}`);
    return;
  }
  say(bold(`\nTests on ${name}`));
  const excluded = readdirSync(join(root, "interop", "test"))
    .filter((file) => file.endsWith(".test.ts") && !ON_EACH_NODE.includes(file.replace(".test.ts", "")))
    .flatMap((file) => ["--exclude", `interop/test/${file}`]);
  await runVitest(tally, { node, name, args: ["--project", "unit", "--project", "interop", ...excluded], env });
  // The addon is the same on every Node; what differs is how Node calls it.
  if (onSimulator) await testCudaIpc(tally, { node, name, only: ["test/driver", "test/device-array"] });
}
