import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { call, cli, describeWithCommand, line, temporaryFolder } from "../support.js";

const folder = temporaryFolder();
const trace = join(folder, "a.jsonl");
writeFileSync(
  trace,
  `${[
    line("begin", { machine: "m", devices: 1 }),
    call("cuMemcpyDtoH", { bytes: 2048, direction: "DtoH", async: false, duration: 1500 }),
    line("leak", { kind: "memory", pointer: "0x10", bytes: 2048 }),
    line("end", { leaks: 1, leakedBytes: 2048 }),
  ].join("\n")}\n{"type":"ca`,
);

describeWithCommand("cuda-simulator report", () => {
  test("prints a table", async () => {
    const { code, stdout, stderr } = await cli(["report", trace]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/driver +cuMemcpyDtoH +1 +2\.00 KiB +1\.50 µs\n/);
    expect(stdout).toContain("Copies to the host: 1 (2.00 KiB)");
    expect(stdout).toContain("Leaks: 1 (2.00 KiB)");
  });

  test("writes a timeline for Perfetto, and one to open", async () => {
    const [json, html] = [join(folder, "a.json"), join(folder, "a.html")];
    expect((await cli(["report", trace, "--timeline", json])).code).toBe(0);
    const { traceEvents } = JSON.parse(readFileSync(json, "utf8")) as { traceEvents: { name: string }[] };
    expect(traceEvents.map((event) => event.name)).toContain("cuMemcpyDtoH");
    expect((await cli(["report", trace, "--timeline", html])).code).toBe(0);
    expect(readFileSync(html, "utf8")).toContain("Copies to the host: 1 (2.00 KiB)");
  });

  test("names the line that is none", async () => {
    const bad = join(folder, "bad.jsonl");
    writeFileSync(bad, `${call("cuInit")}\nWarning: something else\n`);
    const { code, stdout, stderr } = await cli(["report", bad]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(`cuda-simulator: ${bad}:2: no line of a trace`);
    expect(stderr).not.toContain("    at ");
  });

  test("names the file that can't be read or written", async () => {
    expect(await cli(["report", join(folder, "none")])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("none"),
    });
    const nowhere = join(folder, "none/a.html");
    expect(await cli(["report", trace, "--timeline", nowhere])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("The timeline can't be written"),
    });
  });
});

describeWithCommand("cuda-simulator", () => {
  test("tells its version and what it can do", async () => {
    const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
      version: string;
    };
    expect(await cli(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
    expect(await cli(["--help"])).toMatchObject({ code: 0, stdout: expect.stringContaining("cuda-simulator run") });
  });

  test("tells what was wrong with the command line, and how to go on", async () => {
    const { code, stderr } = await cli(["run", "python3", "x.py"]);
    expect(code).toBe(2);
    expect(stderr).toBe(
      "cuda-simulator: The program to run comes behind --\nSuch as: cuda-simulator run --devices 2 -- python3 x.py\n",
    );
  });

  test("says what is missing if the libraries aren't built", async () => {
    const env = { ...process.env, CUDA_SIMULATOR_LIBRARIES: folder };
    expect(await cli(["run", "--", "true"], { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("libcuda.so.1"),
    });
  });
});
