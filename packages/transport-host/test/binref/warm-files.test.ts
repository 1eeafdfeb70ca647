import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, rm, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type HostTransport, hostArray, type Session } from "@tesseract-ts/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { binref } from "../../src/index.js";

let folder = "";
let transport: HostTransport & Session;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "warm-files-"));
  const connected = binref({ inputPath: folder, outputPath: folder }).connect?.({ name: "a server" });
  if (connected === undefined) throw new Error("It keeps nothing");
  transport = connected;
});
afterEach(async () => {
  vi.useRealTimers();
  await transport.close();
  await rm(folder, { recursive: true });
});

/** Encodes an array of this many elements, and tells the file's name. */
async function send(elements: number, first = 0) {
  const array = hostArray(Float64Array.from({ length: elements }, (_, index) => index + first));
  const message = await transport.encode([array], { compression: "none" });
  const buffer = String(message.arrays[0]?.data.buffer);
  const [encoded] = message.arrays;
  if (encoded === undefined || message.lease === undefined) throw new Error("Nothing was encoded");
  return { lease: message.lease, name: buffer.split(":")[0], encoded: { ...encoded, path: "x" }, array };
}

describe("a file of a request", () => {
  test("is used again for the next one, which reads as if it were new", async () => {
    const first = await send(1000);
    await first.lease.release();
    for (const elements of [10, 2000, 1]) {
      const next = await send(elements, 7);
      expect(next.name).toBe(first.name);
      expect(await transport.decode([next.encoded], {})).toEqual([next.array]);
      await next.lease.release();
    }
    expect(await readdir(folder)).toEqual([first.name]);
  });

  test("isn't used again while its request is under way", async () => {
    const [first, second] = [await send(10), await send(10)];
    expect(second.name).not.toBe(first.name);
    await Promise.all([first.lease.release(), second.lease.release()]);
  });

  test("isn't used again after a request that was given up, whose server may still be reading", async () => {
    const first = await send(10);
    await first.lease.abandon?.();
    expect(await readdir(folder)).toEqual([]);
    const second = await send(10);
    expect(second.name).not.toBe(first.name);
    await second.lease.release();
  });

  test("isn't used again after somebody has removed it", async () => {
    const first = await send(10);
    await first.lease.release();
    await unlink(join(folder, String(first.name)));
    const second = await send(10);
    expect(second.name).not.toBe(first.name);
    expect(await transport.decode([second.encoded], {})).toEqual([second.array]);
    await second.lease.release();
  });

  test("is removed when the Tesseract is closed", async () => {
    const [first, second] = [await send(10), await send(10)];
    await first.lease.release();
    await transport.close();
    await second.lease.release();
    expect(await readdir(folder)).toEqual([]);
  });

  test("is removed after ten idle seconds", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const first = await send(10);
    await first.lease.release();
    vi.advanceTimersByTime(9_000);
    expect(await readdir(folder)).toHaveLength(1);
    vi.advanceTimersByTime(2_000);
    await vi.waitFor(async () => expect(await readdir(folder)).toEqual([]));
  });

  test("is one of four that are kept", async () => {
    const sent = await Promise.all(Array.from({ length: 7 }, () => send(10)));
    for (const { lease } of sent) await lease.release();
    expect((await readdir(folder)).sort()).toEqual(
      sent
        .slice(3)
        .map(({ name }) => name)
        .sort(),
    );
  });

  test("is removed when the process ends without closing anything", async () => {
    const program = `
      import { hostArray } from "@tesseract-ts/core";
      import { binref } from "@tesseract-ts/transport-host";
      const folder = process.argv[1];
      const transport = binref({ inputPath: folder }).connect({ name: "a server" });
      const { lease } = await transport.encode([hostArray(new Float64Array(10))], { compression: "none" });
      await lease.release();
      const { readdirSync } = await import("node:fs");
      console.log(readdirSync(folder).length);
    `;
    const args = ["--conditions=source", "--import", "tsx", "--input-type=module", "--eval", program, folder];
    const printed = execFileSync(process.execPath, args, { cwd: import.meta.dirname, encoding: "utf8" });
    expect(printed.trim()).toBe("1");
    expect(await readdir(folder)).toEqual([]);
  });
});
