// What `npm publish` would publish works where it is installed, as ESM and as CommonJS, with nothing of the sources.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { repositoryRoot } from "../src/python.js";

const run = promisify(execFile);
const names = ["core", "transport-host", "transport-cuda-ipc"];

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tesseract-packaging-"));
  const scope = join(folder, "node_modules/@tesseract-ts");
  for (const name of names) {
    const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], {
      cwd: join(repositoryRoot, "packages", name),
    });
    const packed: unknown = JSON.parse(stdout);
    const [entry] = (Array.isArray(packed) ? packed : Object.values(packed as object)) as { filename: string }[];
    await mkdir(join(scope, name), { recursive: true });
    await run("tar", ["-xzf", join(folder, entry?.filename ?? ""), "-C", join(scope, name), "--strip-components", "1"]);
  }
  const undici = await realUndici();
  await symlink(undici, join(folder, "node_modules/undici"));
  await symlink(join(repositoryRoot, "node_modules/node-gyp-build"), join(folder, "node_modules/node-gyp-build"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The dependency of core, at the version that it asks for. */
async function realUndici(): Promise<string> {
  const own = join(repositoryRoot, "packages/core/node_modules/undici");
  return (await readdir(own).catch(() => [])).length > 0 ? own : join(repositoryRoot, "node_modules/undici");
}

const program = `
async function main({ fromUrl, hostArray, TesseractError }, { host }) {
  const error = await fromUrl("http://127.0.0.1:9", { transports: [host()] }).catch((error) => error);
  const [base64] = host();
  const { arrays } = await base64.encode([hostArray([1, 2, 3])], { compression: "lz4" });
  console.log(error instanceof TesseractError, error.code, arrays[0].data.compression);
}`;

test("as ECMAScript modules", async () => {
  const file = join(folder, "program.mjs");
  await writeFile(
    file,
    `import * as core from "@tesseract-ts/core";\nimport * as transport from "@tesseract-ts/transport-host";\n${program}\nawait main(core, transport);`,
  );
  expect((await run(process.execPath, [file])).stdout).toBe("true CONNECTION_FAILED lz4\n");
});

test("as CommonJS modules", async () => {
  const file = join(folder, "program.cjs");
  await writeFile(file, `${program}\nmain(require("@tesseract-ts/core"), require("@tesseract-ts/transport-host"));`);
  expect((await run(process.execPath, [file])).stdout).toBe("true CONNECTION_FAILED lz4\n");
});

test("without its addon, transport-cuda-ipc can be imported and says why it is of no use", async () => {
  const program = `
    const say = async ({ cudaIpc, DeviceArray }) => {
      const probe = await cudaIpc().probe();
      const failure = await DeviceArray.empty([1], "float64").catch((error) => error);
      console.log(JSON.stringify([probe.ok, probe.reason, probe.hint.length > 0, failure.code]));
    };`;
  const files = {
    "gpu.mjs": `import * as cuda from "@tesseract-ts/transport-cuda-ipc";${program}\nawait say(cuda);`,
    "gpu.cjs": `${program}\nsay(require("@tesseract-ts/transport-cuda-ipc"));`,
  };
  for (const [name, source] of Object.entries(files)) {
    const file = join(folder, name);
    await writeFile(file, source);
    const said: unknown = JSON.parse((await run(process.execPath, [file])).stdout);
    expect(said).toEqual([false, expect.stringContaining("addon"), true, "CUDA_UNAVAILABLE"]);
  }
});

test("each package has its licence, its README and its types", async () => {
  for (const name of names) {
    const files = await readdir(join(folder, "node_modules/@tesseract-ts", name));
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "dist", "package.json", "src"]));
    const built = await readdir(join(folder, "node_modules/@tesseract-ts", name, "dist"));
    expect(built).toEqual(expect.arrayContaining(["index.js", "index.cjs", "index.d.ts", "index.d.cts"]));
  }
});
