/**
 * Measures the client against the reference's, in one run and in turn:
 *
 *     npm run bench [-- --quick]
 *
 * Prints a table and writes bench/results/client.json. See bench/README.md for what each row means.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPython, repositoryRoot } from "../interop/src/python.js";
import { startRuntime } from "../interop/src/runtime.js";
import { type Figures, figures } from "./statistics.js";
import { WorkerProcess } from "./worker-process.js";

interface Row {
  readonly bench: string;
  readonly size: number;
  readonly encoding: string;
  readonly typescript_ms: number | null;
  readonly python_ms: number | null;
  readonly ratio: number;
  readonly goal: number | null;
}

const quick = process.argv.includes("--quick");
const sizes = [1e3, 1e5, 1e7];
const calls: Readonly<Record<number, number>> = { 1e3: 100, 1e5: 20, 1e7: 2 };
const rounds = quick ? 3 : 9;
const clientGoals: Readonly<Record<number, number>> = { 1e3: 0.5, 1e5: 0.7, 1e7: 0.6 };

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const rows: Row[] = [];

const startTypeScript = (): WorkerProcess =>
  new WorkerProcess(process.execPath, ["--expose-gc", "--import", "tsx", here("worker.ts")]);
const startPython = (): WorkerProcess => new WorkerProcess(findPython(), [here("worker.py")]);

/** More calls than a round has, so that both sides' just-in-time compilers and pools have settled. */
const WARM_UP = 4;

/** Both in turn, so that what the machine does meanwhile meets both; the first round only warms up. */
async function inTurn(
  work: (worker: WorkerProcess, count: number) => Promise<number[]>,
  size: number,
  workers: readonly [WorkerProcess, WorkerProcess],
): Promise<[Figures, Figures]> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    for (const side of [0, 1] as const) {
      const count = calls[size] ?? 1;
      const measured = await work(workers[side], round === 0 && size < 1e7 ? count * WARM_UP : count);
      if (round > 0) times[side].push(...measured);
    }
  }
  return [figures(times[0]), figures(times[1])];
}

function report(
  bench: string,
  size: number,
  encoding: string,
  [ours, theirs]: [Figures, Figures],
  goal: number | null,
): void {
  const ratio = ours.median / theirs.median;
  rows.push({
    bench,
    size,
    encoding,
    typescript_ms: round(ours.median),
    python_ms: round(theirs.median),
    ratio: round(ratio),
    goal,
  });
  const cell = ({ median, low, high }: Figures): string => `${ms(median)} (${ms(low)}–${ms(high)})`.padEnd(26);
  print(bench, size, encoding, cell(ours), cell(theirs), ratio, goal);
}

function print(
  bench: string,
  size: number,
  encoding: string,
  ours: string,
  theirs: string,
  ratio: number,
  goal: number | null,
): void {
  const verdict = goal === null ? "" : `${goal.toFixed(2)} ${ratio <= goal ? "met" : "MISSED"}`;
  console.log(
    `${bench.padEnd(11)} ${`10^${Math.log10(size)}`.padEnd(5)} ${encoding.padEnd(7)} ${ours} ${theirs} ${ratio.toFixed(2).padStart(5)}  ${verdict}`,
  );
}

const ms = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);
const round = (value: number): number => Number(value.toPrecision(4));

/** Answers of the real runtime, as it gave them. */
async function record(url: string, folder: string): Promise<void> {
  await writeFile(join(folder, "openapi.json"), await (await fetch(`${url}/openapi.json`)).text());
  for (const size of [10, ...sizes]) {
    const x = Float64Array.from({ length: size }, () => Math.random() * 2 - 1);
    const buffer = Buffer.from(x.buffer).toString("base64");
    const response = await fetch(`${url}/apply`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json+base64; gpu_transport=none" },
      body: JSON.stringify({
        inputs: { x: { shape: [size], dtype: "float64", data: { buffer, encoding: "base64" } } },
      }),
    });
    if (!response.ok) throw new Error(`Recording failed: ${response.status} ${await response.text()}`);
    await writeFile(join(folder, `${size}.json`), Buffer.from(await response.arrayBuffer()));
  }
}

async function clientAlone(folder: string, workers: readonly [WorkerProcess, WorkerProcess]): Promise<void> {
  await using server = new WorkerProcess(process.execPath, ["--import", "tsx", here("recorded-server.ts"), folder]);
  const url = `http://127.0.0.1:${await server.line()}`;
  await Promise.all(
    workers.map((worker) => worker.do("connect", { url, encoding: "base64", inputPath: folder, outputPath: folder })),
  );
  for (const size of sizes) {
    await Promise.all(workers.map((worker) => worker.do("array", { size })));
    const measured = await inTurn((worker, count) => worker.do("apply", { count, runId: String(size) }), size, workers);
    report("client", size, "base64", measured, clientGoals[size] ?? null);
  }
}

async function endToEnd(
  runtime: { url: string; inputPath: string; outputPath: string },
  workers: readonly [WorkerProcess, WorkerProcess],
): Promise<void> {
  const { url, inputPath, outputPath } = runtime;
  for (const encoding of ["base64", "binref"]) {
    await Promise.all(workers.map((worker) => worker.do("connect", { url, encoding, inputPath, outputPath })));
    for (const size of sizes) {
      await Promise.all(workers.map((worker) => worker.do("array", { size })));
      const measured = await inTurn(
        async (worker, count) => {
          const times = await worker.do<number[]>("apply", { count });
          // The runtime keeps each run's files.
          await rm(outputPath, { recursive: true, force: true });
          return times;
        },
        size,
        workers,
      );
      report("end-to-end", size, encoding, measured, 1.0);
    }
  }
}

async function codecAlone(folder: string, workers: readonly [WorkerProcess, WorkerProcess]): Promise<void> {
  const size = 1e7;
  await Promise.all(workers.map((worker) => worker.do("array", { size })));
  const copy = figures(await workers[0].do("copy", { count: 15 })).median;
  for (const bench of ["encode", "decode"]) {
    const file = bench === "decode" ? { file: join(folder, `${size}.json`) } : {};
    const measured = await inTurn((worker, count) => worker.do(bench, { count, ...file }), size, workers);
    report(bench, size, "base64", measured, null);
    const fraction = (copy / measured[0].median) * 100;
    console.log(
      `            ${((size * 8) / measured[0].median / 1e6).toFixed(2)} GB/s, ${fraction.toFixed(0)} % of the ${((size * 8) / copy / 1e6).toFixed(1)} GB/s that copying an array takes`,
    );
  }
}

/** In fresh processes, with one small call before, so that only the one large call counts. */
async function peakMemory(folder: string): Promise<void> {
  await using server = new WorkerProcess(process.execPath, ["--import", "tsx", here("recorded-server.ts"), folder]);
  const url = `http://127.0.0.1:${await server.line()}`;
  const size = 1e7;
  const multiples: number[] = [];
  for (const start of [startTypeScript, startPython]) {
    const measured: number[] = [];
    for (let i = 0; i < (quick ? 1 : 3); i++) {
      await using worker = start();
      await worker.do("connect", { url, encoding: "base64", inputPath: folder, outputPath: folder });
      await worker.do("array", { size });
      measured.push(await worker.do<number>("memory", { runId: String(size) }));
    }
    multiples.push(figures(measured).median / (size * 8));
  }
  const [ours = Number.NaN, theirs = Number.NaN] = multiples;
  const goal = 3;
  rows.push({
    bench: "memory",
    size,
    encoding: "base64",
    typescript_ms: null,
    python_ms: null,
    ratio: round(ours),
    goal,
  });
  const cell = (value: number): string => `${value.toFixed(2)} × the array's bytes`.padEnd(26);
  print("memory", size, "base64", cell(ours), cell(theirs), ours, goal);
}

const folder = await mkdtemp(join(tmpdir(), "tesseract-bench-"));
try {
  console.log(
    `Node ${process.version}, ${cpus()[0]?.model.trim()}, ${cpus().length} cores; ${rounds} rounds, medians (middle half)`,
  );
  console.log(`${"".padEnd(25)} ${"TypeScript, ms".padEnd(26)} ${"Python, ms".padEnd(26)} ratio  goal`);
  await using runtime = await startRuntime({ fixture: here("tesseract_api.py") });
  await record(runtime.url, folder);
  {
    await using ours = startTypeScript();
    await using theirs = startPython();
    await clientAlone(folder, [ours, theirs]);
    await endToEnd(runtime, [ours, theirs]);
    await codecAlone(folder, [ours, theirs]);
  }
  await peakMemory(folder);
} finally {
  await rm(folder, { recursive: true, force: true });
}
await writeFile(join(repositoryRoot, "bench/results/client.json"), `${JSON.stringify(rows, null, 2)}\n`);
console.log("Written to bench/results/client.json");
