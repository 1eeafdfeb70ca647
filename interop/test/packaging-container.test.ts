// A container with nothing in it but Node, npm and a shell: it installs the packed packages, serves the README's Tesseract, and
// runs the README's first example.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { describeWithContainers, engine, type TestEngine } from "../src/containers.js";
import { pack, packages } from "../src/packaging/packed.js";
import { OFFLINE, programNamed, projectOf } from "../src/packaging/project.js";
import { repositoryRoot } from "../src/python.js";

const run = promisify(execFile);

// npm runs here, on machines that may be busy.
vi.setConfig({ testTimeout: 1_200_000, hookTimeout: 1_200_000 });

/** This one; `npm run publish:check` names others as well. */
const NODES = [process.execPath, ...(process.env.PACKAGING_NODES ?? "").split(delimiter).filter(Boolean)];

/** What the README's Tesseract is made of. */
const USED = ["core", "inprocess", "serve", "transport-cuda-ipc", "transport-host"];

const BUILDS = ["c++", "g++", "clang++", "cc", "gcc", "make", "cmake", "python3"];

/** Serves the Tesseract where the README's example looks for it, runs the example, and says what came of both. */
const PROGRAM = `
import { spawn } from "node:child_process";
import { once } from "node:events";
const server = spawn("node_modules/.bin/tesseract-ts", ["serve", "heat.ts", "--port", "8000", "--json"], {
  stdio: ["ignore", "pipe", "inherit"],
});
await Promise.race([once(server.stdout, "data"), once(server, "exit")]);
const example = spawn(process.execPath, process.argv.slice(2), { stdio: ["ignore", "pipe", "inherit"] });
let printed = "";
example.stdout.setEncoding("utf8").on("data", (text) => { printed += text; });
const [code] = await once(example, "close");
const ended = server.exitCode === null ? once(server, "exit") : [server.exitCode];
server.kill("SIGTERM");
const [served] = await ended;
console.log(JSON.stringify({ code, printed, served }));
`;

const LOOKS = `
console.log(JSON.stringify([temperature.dtype, temperature.shape, temperature.data.constructor.name]));
`;

describeWithContainers("a container with only Node", (found) => {
  describe.each(NODES)("%s", (node) => {
    let folder: string;
    let common: readonly string[];
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "tesseract-clean-"));
      common = await volumes(node, folder);
      const used = await pack(
        folder,
        packages.filter((one) => USED.includes(one.folder)),
      );
      const project = projectOf(used, used, (tarball) => `/project/${basename(tarball)}`);
      await writeFile(join(folder, "package.json"), JSON.stringify(project));
      await copyFile(join(repositoryRoot, "examples/heat/heat.ts"), join(folder, "heat.ts"));
      const readme = await readFile(join(repositoryRoot, "README.md"), "utf8");
      const [, example = ""] = /```ts\n([\s\S]*?)```/.exec(readme) ?? [];
      expect(example).toContain("localhost:8000");
      for (const suffix of ["mjs", "mts"]) await writeFile(join(folder, `readme.${suffix}`), example + LOOKS);
      await writeFile(join(folder, "program.mjs"), PROGRAM);
      return () => rm(folder, { recursive: true, force: true });
    });

    test("installs the packages, and runs the README's first example", async (context) => {
      const missing = `for tool in ${BUILDS.join(" ")}; do if command -v $tool; then exit 3; fi; done`;
      const npm = "node /npm/bin/npm-cli.js install --no-audit --no-fund --loglevel=error --foreground-scripts";
      const start = performance.now();
      try {
        await inside(found, ["--network", "host", ...common], `${missing}; ${npm}`);
      } catch (error) {
        if (process.env.CI || !OFFLINE.test(String(error))) throw error;
        return context.skip("npm's registry can't be reached, from which dependencies are installed");
      }
      const installed = performance.now();
      // Node has `await using` since version 24; before, a compiler at run time knows it.
      const { stdout: version } = await run(node, ["--version"]);
      const example = Number(/\d+/.exec(version)) >= 24 ? "readme.mjs" : "--import tsx readme.mts";
      const said = await inside(found, ["--network", "none", ...common], `node program.mjs ${example}`);
      expect(JSON.parse(said.trim().split("\n").at(-1) ?? "")).toEqual({
        code: 0,
        printed: `${JSON.stringify(["float64", [100], "Float64Array"])}\n`,
        served: 143, // by SIGTERM
      });
      const seconds = (from: number, to: number): string => `${((to - from) / 1000).toFixed(1)} s`;
      console.log(
        `Node ${version.trim()}: ${seconds(start, installed)} to install, ${seconds(installed, performance.now())} to run`,
      );
    });
  });
});

const inside = (found: TestEngine, options: readonly string[], script: string): Promise<string> =>
  engine(found, "run", "--rm", ...options, "--workdir", "/project", found.node, "sh", "-c", script);

/** What is lent to the container: Node, npm with its settings, a shell, and the project. */
async function volumes(node: string, folder: string): Promise<readonly string[]> {
  const npm = dirname(dirname(await programNamed("npm")));
  const lent: [from: string, to: string][] = [
    [node, "/usr/bin/node"],
    [npm, "/npm"],
    [await programNamed("sh"), "/bin/sh"],
    [await programNamed("env"), "/usr/bin/env"],
  ];
  const variables: Record<string, string> = { HOME: "/project/home" };
  const setting = async (name: string): Promise<string> =>
    (await run("npm", ["config", "get", name], { cwd: folder })).stdout.trim();
  for (const name of ["registry", "https-proxy", "proxy", "noproxy"]) {
    const value = await setting(name);
    if (!["", "null", "undefined"].includes(value)) variables[`npm_config_${name.replaceAll("-", "_")}`] = value;
  }
  for (const name of ["cafile", "userconfig", "globalconfig"]) {
    const file = await setting(name);
    if (!existsSync(file)) continue;
    lent.push([file, `/settings/${name}`]);
    variables[`npm_config_${name}`] = `/settings/${name}`;
  }
  await mkdir(join(folder, "home"));
  return [
    ...lent.flatMap(([from, to]) => ["--volume", `${from}:${to}:ro`]),
    ...["--volume", `${folder}:/project`],
    ...Object.entries(variables).flatMap(([name, value]) => ["--env", `${name}=${value}`]),
  ];
}
