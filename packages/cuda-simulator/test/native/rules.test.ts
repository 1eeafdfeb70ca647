// The program that checks the simulator's rules on any driver, against the simulator as if it were one.

import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { libraryFolder } from "../../src/native/libraries.js";
import { describeWith, missingLibraries, root } from "../support.js";

function missingProgram(): string | undefined {
  const missing = missingLibraries();
  if (missing !== undefined) return missing;
  return existsSync(program()) ? undefined : "The rules aren't built: npm run build:native";
}

const program = (): string => join(dirname(libraryFolder()), "bin/rules");

/** Without settings of this process's own, such as CUDA_SIMULATOR_DEVICES. */
const environment = { PATH: process.env.PATH, CUDA_VISIBLE_DEVICES: undefined };

const rules = (...args: readonly string[]): Promise<{ code: number | string; stdout: string; stderr: string }> =>
  new Promise((done) => {
    execFile(program(), args, { env: environment }, (error, stdout, stderr) => {
      done({ code: error === null ? 0 : (error.code ?? "signal"), stdout, stderr });
    });
  });

const DOCUMENTED =
  /^\d+ - [a-z_]+: .+ \[(?:https:\/\/docs\.nvidia\.com\/cuda\/\S+|(?:native\/)?README\.md#\S+)\](?: # .+)?$/;

describeWith(missingProgram(), "the program with the rules", () => {
  test("names the page that each rule follows", async () => {
    const { code, stdout } = await rules("--list");
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.filter((line) => !DOCUMENTED.test(line))).toEqual([]);
  });

  test("names pages of the READMEs that are there", async () => {
    const { stdout } = await rules("--list");
    const named = new Set(
      [...stdout.matchAll(/\[((?:native\/)?README\.md)#(\S+)\]/g)].map(([, file, id]) => `${file}#${id}`),
    );
    for (const place of named) {
      const [file = "", id = ""] = place.split("#");
      const headings = [...readFileSync(join(root, file), "utf8").matchAll(/^##+ (.+)$/gm)].map(
        (match) => match[1] ?? "",
      );
      expect(headings.map((heading) => heading.toLowerCase().replaceAll(" ", "-"))).toContain(id);
    }
  });

  test("checks any driver by its path, and tells why it leaves a rule out", async () => {
    const { code, stdout } = await rules("--driver", join(libraryFolder(), "libcuda.so.1"), "--only", "memory: ");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^# \S+libcuda\.so\.1 for CUDA 12\.4; devices: 1; the first: CUDA Simulator\n/);
    expect(stdout).toMatch(/^ok \d+ - memory: bytes come back as they went \[https.*\]$/m);
    expect(stdout).toMatch(
      /^ok \d+ - memory: .* # SKIP needs a setting of the simulator, CUDA_SIMULATOR_MEMORY=8MiB$/m,
    );
    expect(stdout).toMatch(/^ok \d+ - memory: .* # SKIP the simulator is stricter than CUDA: .+$/m);
    expect(stdout).toMatch(/^ok \d+ - memory: .* # SKIP needs 2 devices, and there is 1$/m);
    expect(stdout).toMatch(/^# \d+ passed, 0 failed, \d+ skipped\n$/m);
  });

  test("leaves out the runtime's rules without a runtime", async () => {
    const driver = join(libraryFolder(), "libcuda.so.1");
    const without = await rules("--driver", driver, "--group", "runtime");
    expect(without.stdout).toMatch(/^# 0 passed, 0 failed, \d+ skipped$/m);
    const runtime = join(libraryFolder(), "libcudart.so.12");
    const { stdout } = await rules("--driver", driver, "--runtime", runtime, "--group", "runtime");
    expect(stdout).toMatch(/^# [1-9]\d* passed, 0 failed, \d+ skipped$/m);
  });

  test("has every rule for the simulator itself", async () => {
    const { stdout } = await rules("--simulator", libraryFolder(), "--group", "contexts");
    expect(stdout).toMatch(/^# [1-9]\d* passed, 0 failed, 0 skipped$/m);
  });

  test("says so if there is nothing to check", async () => {
    expect(await rules("--driver", "/nowhere/libcuda.so.1")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("/nowhere/libcuda.so.1"),
    });
    const driver = join(libraryFolder(), "libcuda.so.1");
    expect(await rules("--driver", driver, "--only", "no rule")).toMatchObject({
      code: 2,
      stderr: "no rule is called so\n",
    });
    expect(await rules("--drivers")).toMatchObject({ code: 2, stderr: expect.stringContaining("--driver LIBRARY") });
    expect(await rules("--help")).toMatchObject({ code: 0, stdout: expect.stringContaining("--driver LIBRARY") });
  });
});
