// The addon of transport-cuda-ipc as it is published: built by one compiler for every target, loaded from the packed tarball, and
// what its install script does where none fits. The addons are those that `npm run prebuilds` has left: that takes minutes.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from "vitest";
import { pack, packages, unpack } from "../src/packaging/packed.js";
import { repositoryRoot } from "../src/python.js";

const run = promisify(execFile);
const NAME = "@tesseract-ts/transport-cuda-ipc";
const PREFIX = "@tesseract-ts+transport-cuda-ipc";
const CORE = "@tesseract-ts/core";
const TARGETS = ["linux-x64-glibc", "linux-x64-musl", "linux-arm64-glibc", "linux-arm64-musl"];

const OWN = `linux-${process.arch}-glibc`;

/** Some of it runs under an emulator. */
const SLOW = 600_000;
vi.setConfig({ testTimeout: SLOW, hookTimeout: SLOW });

interface Prebuild {
  readonly name: string;
  readonly state: "fresh" | "stale" | "missing";
  readonly problems: readonly string[];
  readonly glibc?: string;
  /** A program that is a Node for this target. */
  readonly node?: string;
  readonly variables: Readonly<Record<string, string>>;
}

const script = join(repositoryRoot, "packages/transport-cuda-ipc/scripts/prebuilds.mjs");
let folder: string;
let found: readonly Prebuild[];
const tarballs = new Map<string, string>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-prebuilds-"));
  // Its exit status says that some aren't there.
  const { stdout } = await run(process.execPath, [script, "--check", "--json"]).catch(
    (error) => error as { stdout: string },
  );
  found = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as readonly Prebuild[];
  const wanted = packages.filter(({ manifest }) => [NAME, CORE].includes(manifest.name));
  for (const { manifest, tarball } of await pack(folder, wanted)) {
    tarballs.set(manifest.name, tarball);
    const place = join(folder, "node_modules", manifest.name);
    await mkdir(place, { recursive: true });
    await unpack(tarball, place);
  }
  for (const name of ["node-gyp-build", "node-addon-api", "undici"])
    await symlink(dependency(name), join(folder, "node_modules", name));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function dependency(name: string): string {
  const places = ["packages/core/node_modules", "packages/transport-cuda-ipc/node_modules", "node_modules"];
  const path = places.map((place) => join(repositoryRoot, place, name)).find((place) => existsSync(place));
  if (path === undefined) throw new Error(`${name} isn't installed`);
  return path;
}

/** What is known of a target's addon; without a fresh one the test is skipped. */
function prebuilt(context: TestContext, name: string): Prebuild {
  const one = found.find((prebuild) => prebuild.name === name);
  if (one === undefined) throw new Error(`There is no target ${name}`);
  if (one.state !== "fresh")
    context.skip(`The addon for ${name} is ${one.state}: \`npm run prebuilds\` builds it, in minutes`);
  return one;
}

describe.each(TARGETS)("the addon for %s", (name) => {
  test("needs nothing that a system of its kind lacks", (context) => {
    const one = prebuilt(context, name);
    expect(one.problems).toEqual([]);
    if (name.endsWith("-glibc")) expect(Number(one.glibc?.split(".")[1])).toBeLessThanOrEqual(28);
    else expect(one.glibc).toBeUndefined();
  });

  test(
    "is loaded from the packed tarball",
    async (context) => {
      const { node, variables } = prebuilt(context, name);
      if (node === undefined) {
        return context.skip(
          `There is no Node for ${name} here: \`npm run test:prebuilds\` gets one, and qemu where it is needed`,
        );
      }
      const [, arch = "", libc = ""] = name.split("-");
      const addon = join(folder, "node_modules", NAME, `prebuilds/linux-${arch}/${PREFIX}.${libc}.node`);
      expect(await loadedBy(node, folder, variables)).toEqual({ arch, problem: "no-driver", addon });
    },
    SLOW,
  );
});

const PROGRAM = `
import { readFileSync } from "node:fs";
import { probeDriver } from "${NAME}";
const { problem, reason } = await probeDriver();
const [addon = reason] = readFileSync("/proc/self/maps", "utf8").match(/\\/\\S+\\.node$/m) ?? [];
console.log(JSON.stringify({ arch: process.arch, problem, addon }));
`;

/** What a program in `place` finds with this Node, where there is no driver. */
async function loadedBy(
  node: string,
  place: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const file = join(place, "program.mjs");
  await writeFile(file, PROGRAM);
  const env = { ...process.env, ...variables, TESSERACT_CUDA_DRIVER: join(folder, "no-driver.so") };
  return JSON.parse((await run(node, [file], { env })).stdout);
}

/** A copy without prebuilt addons, as on a system for which there is none. */
async function withoutPrebuilds(name: string): Promise<string> {
  const path = join(folder, "without", name, "node_modules", NAME);
  await mkdir(path, { recursive: true });
  await unpack(tarballs.get(NAME) ?? "", path);
  await rm(join(path, "prebuilds"), { recursive: true, force: true });
  return path;
}

test("an addon in prebuildify's layout is loaded from the packed package", async (context) => {
  const built = join(repositoryRoot, "packages/transport-cuda-ipc/build/Release/cuda_ipc.node");
  if (!existsSync(built)) {
    if (process.env.CI) throw new Error("The addon isn't built");
    return context.skip("The addon isn't built: `npm run build:native -w packages/transport-cuda-ipc`");
  }
  const place = await withoutPrebuilds("layout");
  const addon = join(place, `prebuilds/linux-${process.arch}/${PREFIX}.node`);
  await mkdir(dirname(addon), { recursive: true });
  await copyFile(built, addon);
  const loaded = await loadedBy(process.execPath, join(place, "../../.."));
  expect(loaded).toEqual({ arch: process.arch, problem: "no-driver", addon });
});

describe("installing it", () => {
  const place = (): string => join(folder, "node_modules", NAME);
  const installIn = (path: string, env: Readonly<Record<string, string>> = {}) =>
    run(process.execPath, [join(path, "scripts/install.mjs")], {
      cwd: path,
      env: { ...process.env, ...env },
      timeout: SLOW,
    });

  test("builds nothing where a prebuilt addon fits", async (context) => {
    prebuilt(context, OWN);
    const { stdout, stderr } = await installIn(place());
    expect([stdout, stderr]).toEqual(["", ""]);
    expect(existsSync(join(place(), "build"))).toBe(false);
  });

  test("succeeds without an addon and without a compiler, and says what is missing", async () => {
    const { stderr } = await installIn(await withoutPrebuilds("compiler"), { PATH: folder, CXX: "" });
    expect(stderr.trimEnd().split("\n")).toEqual([
      `${NAME}: there is no prebuilt addon for ${process.platform}-${process.arch}, and none can be built without ` +
        "a C++ compiler, make, Python. It is installed all the same, and GPU arrays go through the host.",
    ]);
  });

  test("succeeds where the build fails, and shows how it failed", async () => {
    const broken = join(folder, "broken");
    await mkdir(broken, { recursive: true });
    const gyp = join(broken, "node-gyp.cjs");
    await writeFile(gyp, `console.error("gyp ERR! build error"); process.exit(1);`);
    for (const name of ["make", "python3"]) await writeFile(join(broken, name), "", { mode: 0o755 });
    const { stderr } = await installIn(await withoutPrebuilds("build"), {
      PATH: [broken, process.env.PATH].join(delimiter),
      CXX: "c++",
      npm_config_node_gyp: gyp,
    });
    expect(stderr).toContain("gyp ERR! build error");
    expect(stderr).toContain("is installed all the same");
  });
});
