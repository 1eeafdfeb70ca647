// transport-cuda-ipc as npm installs it where no prebuilt addon fits: with a compiler, without one, without install scripts, and
// for other systems. All of it takes a minute or two, so `npm run publish:check` runs it.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { simulatedCuda } from "@tesseract-ts/cuda-simulator";
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from "vitest";
import { type Packed, pack, packages, unpack } from "../src/packaging/packed.js";
import { type InstallOptions, install, programNamed } from "../src/packaging/project.js";

const run = promisify(execFile);
const NAME = "@tesseract-ts/transport-cuda-ipc";
const ADDON = "build/Release/cuda_ipc.node";

const WHOLE = process.env.PACKAGING_WHOLE !== undefined;

// npm and a compiler run here.
vi.setConfig({ testTimeout: 1_200_000, hookTimeout: 1_200_000 });

let folder: string;
/** Without its prebuilt addons. */
let bare: Packed;
let all: readonly Packed[];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-install-"));
  if (!WHOLE) return;
  all = await pack(
    folder,
    packages.filter(({ folder }) => ["core", "transport-cuda-ipc"].includes(folder)),
  );
  const own = all.find(({ manifest }) => manifest.name === NAME);
  if (own === undefined) throw new Error(`${NAME} isn't packed`);
  const unpacked = join(folder, "bare/package");
  await mkdir(unpacked, { recursive: true });
  await unpack(own.tarball, unpacked);
  await rm(join(unpacked, "prebuilds"), { recursive: true, force: true });
  const tarball = join(folder, "bare.tgz");
  await run("tar", ["-czf", tarball, "-C", dirname(unpacked), "package"]);
  bare = { ...own, tarball };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Installed {
  readonly project: string;
  /** Where the package is. */
  readonly place: string;
  readonly printed: string;
}

async function installed(context: TestContext, name: string, options: InstallOptions): Promise<Installed> {
  if (!WHOLE) return context.skip("npm installs and a compiler compiles: `npm run publish:check` does so");
  const project = join(folder, name);
  const printed = await install(project, [bare], all, options);
  return { project, place: join(project, "node_modules", NAME), printed };
}

/** What npm printed of the package's own. */
const linesOf = (printed: string): readonly string[] =>
  printed.split("\n").filter((line) => line.includes(NAME) && !line.startsWith("> "));

const LOOKS = `
import { probeDriver } from "${NAME}";
const { problem, reason } = await probeDriver();
console.log(JSON.stringify({ problem, reason }));
`;

/** What a program of the project finds out about this machine's GPUs. */
async function looks(project: string, ...flags: readonly string[]): Promise<unknown> {
  const file = join(project, "looks.mjs");
  await writeFile(file, LOOKS);
  return JSON.parse((await run(process.execPath, [...flags, file], { cwd: project })).stdout);
}

const noAddon = { problem: "no-addon", reason: expect.stringContaining("can't be loaded") };

const COPIES = `
import { readFileSync } from "node:fs";
import { DeviceArray } from "${NAME}";
const array = await DeviceArray.fromHost(new Float64Array([1, 2, 3]));
const { data } = await array.copyToHost();
await array[Symbol.asyncDispose]();
const [addon] = readFileSync("/proc/self/maps", "utf8").match(/\\/\\S+\\.node$/m) ?? [];
console.log(JSON.stringify({ values: [...data], addon }));
`;

test("with a compiler it is built from its sources, and takes an array to a simulated GPU and back", async (context) => {
  const { project, place, printed } = await installed(context, "compiler", { scripts: true });
  expect(linesOf(printed)).toEqual([]);
  const file = join(project, "copies.mjs");
  await writeFile(file, COPIES);
  await using cuda = await simulatedCuda();
  const { stdout, stderr, exitCode } = await cuda.run(process.execPath, [file]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(JSON.parse(stdout)).toEqual({ values: [1, 2, 3], addon: await realpath(join(place, ADDON)) });
  expect([cuda.trace.leaks, cuda.trace.hazards]).toEqual([[], []]);
});

const NOTHING_TO_BUILD_WITH =
  `${NAME}: there is no prebuilt addon for linux-${process.arch}, and none can be built without a C++ compiler, make, Python. ` +
  "It is installed all the same, and GPU arrays go through the host.";

/** A `PATH` with what npm itself needs. */
async function withoutCompiler(): Promise<Record<string, string>> {
  const programs = join(folder, "programs");
  await mkdir(programs, { recursive: true });
  for (const name of ["node", "npm", "sh"]) {
    if (!existsSync(join(programs, name))) await symlink(await programNamed(name), join(programs, name));
  }
  return { PATH: programs, CXX: "" };
}

test("without a compiler it is installed, and says in one line what is missing", async (context) => {
  const options = { scripts: true, env: await withoutCompiler() };
  const { project, place, printed } = await installed(context, "no-compiler", options);
  expect(linesOf(printed)).toEqual([NOTHING_TO_BUILD_WITH]);
  expect(existsSync(join(place, ADDON))).toBe(false);
  expect(await looks(project)).toEqual(noAddon);
});

test("without install scripts it is installed, and its script runs when it is asked to", async (context) => {
  const { project, place } = await installed(context, "no-scripts", {});
  expect(existsSync(join(place, ADDON))).toBe(false);
  expect(await looks(project)).toEqual(noAddon);
  const env = { ...process.env, ...(await withoutCompiler()) };
  // As the error's hint says.
  const { stderr } = await run("npm", ["rebuild", "--foreground-scripts", "--loglevel=error", NAME], {
    cwd: project,
    env,
  });
  expect(linesOf(stderr)).toEqual([NOTHING_TO_BUILD_WITH]);
});

describe.each([
  ["darwin", "arm64"],
  ["win32", "x64"],
  ["linux", "riscv64"],
])("for %s on %s, as npm and a Node that are told so see it", (platform, arch) => {
  test("it is installed, and its script builds what can be built", async (context) => {
    const pretend = join(folder, `${platform}.cjs`);
    await writeFile(
      pretend,
      `for (const [name, value] of Object.entries(${JSON.stringify({ platform, arch })}))
        Object.defineProperty(process, name, { value });`,
    );
    const flags = ["--os", platform, "--cpu", arch];
    const { project, place, printed } = await installed(context, platform, { flags });
    expect(linesOf(printed)).toEqual([]);
    const script = join(place, "scripts/install.mjs");
    const env = { ...process.env, PATH: folder, CXX: "" };
    const said = await run(process.execPath, ["--require", pretend, script], { cwd: place, env });
    if (platform === "linux") expect(linesOf(said.stderr)).toEqual([expect.stringContaining(`for linux-${arch}`)]);
    else expect(said).toEqual({ stdout: "", stderr: "" });
    expect(await looks(project, "--require", pretend)).toEqual(
      platform === "linux" ? noAddon : { problem: "unsupported-platform", reason: expect.stringContaining(platform) },
    );
  });
});
