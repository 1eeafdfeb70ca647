/** This project's side of the benchmark: reads one JSON command a line, answers with one JSON line. */
import { readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fromUrl, hostArray, type Tesseract, type TextSource } from "@tesseract-ts/core";
import { base64, host } from "@tesseract-ts/transport-host";

interface Connect {
  readonly url: string;
  readonly encoding: string;
  readonly inputPath: string;
  readonly outputPath: string;
}

const statusBytes = (name: string): number =>
  Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;

async function timed(work: () => Promise<unknown>, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return times;
}

let tess: Tesseract | undefined;
let x = new Float64Array(0);

const connected = (): Tesseract => {
  if (tess === undefined) throw new Error("Not connected");
  return tess;
};

const commands = {
  async connect({ url, encoding, inputPath, outputPath }: Connect) {
    await tess?.close();
    tess = await fromUrl(url, {
      transports: [host({ inputPath, outputPath })],
      outputFormat: `json+${encoding}`,
    });
  },
  async array({ size }: { size: number }) {
    x = Float64Array.from({ length: size }, () => Math.random() * 2 - 1);
  },
  apply: ({ count, runId }: { count: number; runId?: string }) =>
    timed(() => connected().apply({ x }, { runId }), count),
  encode: ({ count }: { count: number }) =>
    timed(async () => {
      const message = await base64().encode([hostArray(x)], { compression: "none" });
      const text = message.arrays[0]?.data.buffer as TextSource;
      let length = 0;
      for await (const chunk of text.chunks()) length += chunk.length;
      if (length !== text.byteLength) throw new Error(`${length} bytes of text instead of ${text.byteLength}`);
    }, count),
  async decode({ count, file }: { count: number; file: string }) {
    const body = readFileSync(file);
    // As the reader does with an answer that comes in pieces of a socket's size.
    const start = body.indexOf('"buffer":"') + '"buffer":"'.length;
    const end = body.indexOf('"', start);
    const shape = [x.length];
    return timed(async () => {
      const transport = base64();
      const sink = transport.openBuffer?.({ shape, dtype: "float64", path: "y" }, end - start);
      for (let at = start; at < end; at += 65536) sink?.write(body.subarray(at, Math.min(end, at + 65536)));
      const data = { encoding: "base64", buffer: sink?.end() };
      await transport.decode([{ shape, dtype: "float64", data, path: "y" }], {});
    }, count);
  },
  copy: ({ count }: { count: number }) => {
    const target = new Float64Array(x.length);
    return timed(async () => target.set(x), count);
  },
  async memory({ runId }: { runId: string }) {
    await connected().apply({ x: x.subarray(0, 10) }, { runId: "10" });
    globalThis.gc?.();
    writeFileSync("/proc/self/clear_refs", "5");
    const before = statusBytes("VmRSS");
    await connected().apply({ x }, { runId });
    return statusBytes("VmHWM") - before;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  const work = commands[command.do as keyof typeof commands] as (options: unknown) => Promise<unknown>;
  process.stdout.write(`${JSON.stringify((await work(command)) ?? null)}\n`);
}
await tess?.close();
