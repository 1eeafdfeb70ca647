/** Containers for tests: an engine that can run them here, images that need no registry, and what must not be left. */
import { readdirSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, test } from "vitest";
import { repositoryRoot, runProgram } from "./python.js";

/** What scripts/setup/containers.mjs found. */
export interface TestEngine {
  readonly command: readonly string[];
  /** An image with Node in it. */
  readonly node: string;
  /** An image of the reference's, where there is its environment. */
  readonly reference?: string;
  /** Whether ports of containers can be published here. */
  readonly publishes: boolean;
}

/** To make images takes a minute where none were made before. */
const SETUP_MS = 900_000;

/** The other file's tests, on a machine that is busy. */
const TURN_MS = 3_600_000;

let asked: Promise<TestEngine | { readonly reason: string }> | undefined;

function engineOfThisMachine(): Promise<TestEngine | { readonly reason: string }> {
  asked ??= runProgram(process.execPath, ["scripts/setup/containers.mjs"], {
    cwd: repositoryRoot,
    timeout: SETUP_MS,
  }).then((output) => JSON.parse(output.trim().split("\n").at(-1) ?? ""));
  return asked;
}

/**
 * A `describe` whose tests run where there is an engine that can run containers. Elsewhere one test says why there is none: CI's
 * machine may be a container itself, and forbid them.
 */
export function describeWithContainers(name: string, tests: (engine: TestEngine) => void): void {
  describe(name, async () => {
    const found = await engineOfThisMachine();
    if (!("reason" in found)) {
      alone();
      return tests(found);
    }
    test("needs an engine that runs containers", (context) => context.skip(found.reason));
  });
}

/**
 * What one file's tests leave, another's running tests would see as left by them: so one file has its turn. The name is a socket's
 * in Linux's abstract namespace, which ends with its process. Elsewhere files have to be run one by one.
 */
function alone(): void {
  const turn = createServer();
  beforeAll(async () => {
    if (process.platform !== "linux") return;
    while (!(await isOurs())) await sleep(100);
    earlierFolders = new Set(buildFolders());
    // Not there, or not for this user: then there are none of its containers'.
    earlierRules = await networkRules().then(
      (rules) => new Set(rules),
      () => undefined,
    );
  }, TURN_MS);
  afterAll(() => void turn.close());

  const isOurs = (): Promise<boolean> =>
    new Promise((resolve, reject) => {
      turn.once("error", (error: NodeJS.ErrnoException) => {
        turn.removeAllListeners();
        if (error.code === "EADDRINUSE") resolve(false);
        else reject(error);
      });
      turn.listen("\0tesseract-ts-container-tests", () => {
        turn.removeAllListeners();
        resolve(true);
      });
    });
}

/** Where an image is built. Some may be there of a program that was killed. */
let earlierFolders: ReadonlySet<string> = new Set();
const buildFolders = (): readonly string[] =>
  readdirSync(tmpdir()).filter((name) => /^tesseract-image-[0-9a-f]{12}$/.test(name));

/** Undefined where they can't be listed. */
let earlierRules: ReadonlySet<string> | undefined;

/**
 * The rules of CNI's plugins, which podman before its version 5 may use: chains of a container's address and of its ports. One that
 * is left takes connections to the port away from whoever listens there next.
 */
async function networkRules(): Promise<readonly string[]> {
  const rules = await runProgram("iptables", ["-t", "nat", "-S"], { timeout: 60_000 });
  return rules.split("\n").filter((rule) => /^-N CNI-(DN-)?[0-9a-f]+$/.test(rule));
}

/** How a container of the tests is reached: a machine that can't publish ports shares its network with it. */
export const networkFor = ({ publishes }: TestEngine): { readonly network?: string } =>
  publishes ? {} : { network: "host" };

export async function engine({ command }: TestEngine, ...args: readonly string[]): Promise<string> {
  const [program = "", ...first] = command;
  return runProgram(program, [...first, ...args], { timeout: 300_000 });
}

/** What starts and builds must not leave: containers, podman's for building among them, volumes, networks, rules, folders. */
export async function remains(found: TestEngine): Promise<readonly string[]> {
  const isPodman = found.command[0]?.includes("podman") === true;
  const [containers, volumes, networks, tags] = [
    await engine(found, "ps", "--all", ...(isPodman ? ["--external"] : []), "--format", "{{.Names}}"),
    await engine(found, "volume", "ls", "--format", "{{.Name}}"),
    await engine(found, "network", "ls", "--format", "{{.Name}}"),
    await engine(found, "images", "--format", "{{.Repository}}"),
  ];
  const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");
  return [
    ...lines(containers).filter((name) => isPodman || name.startsWith("tesseract-")),
    ...(isPodman ? lines(volumes) : []),
    ...lines(networks).filter((name) => name.startsWith("tesseract-test")),
    ...lines(tags).filter((name) => name.includes("tesseract-build-")),
    ...(earlierRules === undefined ? [] : await networkRules()).filter((rule) => !earlierRules?.has(rule)),
    ...buildFolders().filter((name) => !earlierFolders.has(name)),
  ];
}
