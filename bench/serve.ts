/**
 * Measures the server against the reference's, with one client, in one run and in turn:
 *
 *     npm run bench:serve [-- --quick]
 *
 * Prints a table and writes bench/results/serve.json. See bench/README.md for what each row means.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import autocannon from "autocannon";
import { repositoryRoot } from "../interop/src/python.js";
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
const rounds = quick ? 3 : 9;
/** Calls of one round, by the array's size. */
const calls: Readonly<Record<number, number>> = { 1e3: 100, 1e5: 20, 1e7: 2 };
/** The largest share of the Python server's median time that a call may take. */
const goals: Readonly<Record<number, number>> = { 1e3: 0.35, 1e7: 0.5 };
/** Times the Python server's calls a second. */
const throughputGoal = 8;
/** Milliseconds that a call in this process may cost over calling the function itself. */
const inProcessGoal = 0.05;
const CONNECTIONS = 16;
const THROUGHPUT_SECONDS = quick ? 2 : 5;

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const node = (...args: string[]): WorkerProcess => new WorkerProcess(process.execPath, ["--import", "tsx", ...args]);
const rows: Row[] = [];

const round = (value: number): number => Number(value.toPrecision(4));
const ms = ({ median, low, high }: Figures): string => `${show(median)} (${show(low)}–${show(high)})`.padEnd(26);
const show = (value: number): string => value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0);

interface Server {
  readonly url: string;
  readonly inputPath: string;
  readonly outputPath: string;
}

/** One call after the other, at each server in turn; the first round only warms up. */
async function endToEnd(servers: readonly [Server, Server], encoding: string): Promise<void> {
  await using ours = node(here("worker.ts"));
  await using theirs = node(here("worker.ts"));
  const clients = [ours, theirs] as const;
  await Promise.all(clients.map((client, side) => client.do("connect", { ...servers[side as 0 | 1], encoding })));
  for (const size of [1e3, 1e5, 1e7]) {
    await Promise.all(clients.map((client) => client.do("array", { size })));
    const times: [number[], number[]] = [[], []];
    for (let at = 0; at <= rounds; at++) {
      for (const side of [0, 1] as const) {
        const count = (calls[size] ?? 1) * (at === 0 && size < 1e7 ? 4 : 1);
        const measured = await clients[side].do<number[]>("apply", { count });
        if (at > 0) times[side].push(...measured);
        await rm(servers[side].outputPath, { recursive: true, force: true });
      }
    }
    const [typescript, python] = [figures(times[0]), figures(times[1])];
    const ratio = typescript.median / python.median;
    const goal = goals[size] ?? null;
    const medians = { typescript_ms: round(typescript.median), python_ms: round(python.median) };
    rows.push({ bench: "end-to-end", size, encoding, ...medians, ratio: round(ratio), goal });
    const verdict = goal === null ? "" : `${goal} ${ratio <= goal ? "met" : "MISSED"}`;
    console.log(
      `end-to-end  10^${Math.log10(size)}  ${encoding.padEnd(7)} ${ms(typescript)} ${ms(python)} ${ratio.toFixed(3)}  ${verdict}`,
    );
  }
}

/** Calls a second, under as many connections as the server is given at once. */
async function throughput(servers: readonly [Server, Server]): Promise<void> {
  const size = 1e3;
  const x = Float64Array.from({ length: size }, () => Math.random() * 2 - 1);
  const data = { buffer: Buffer.from(x.buffer).toString("base64"), encoding: "base64" };
  const body = JSON.stringify({ inputs: { x: { object_type: "array", shape: [size], dtype: "float64", data } } });
  const perSecond: [number[], number[]] = [[], []];
  for (let at = 0; at <= (quick ? 1 : 3); at++) {
    for (const side of [0, 1] as const) {
      const result = await autocannon({
        url: `${servers[side].url}/apply`,
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json+base64" },
        body,
        connections: CONNECTIONS,
        duration: THROUGHPUT_SECONDS,
      });
      if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx + result.errors} calls failed`);
      if (at > 0) perSecond[side].push(result.requests.average);
    }
  }
  const [typescript, python] = [figures(perSecond[0]).median, figures(perSecond[1]).median];
  const ratio = typescript / python;
  // As times, like the other rows: milliseconds of the server for each call.
  const times = { typescript_ms: round(1000 / typescript), python_ms: round(1000 / python) };
  rows.push({ bench: "throughput", size, encoding: "base64", ...times, ratio: round(ratio), goal: throughputGoal });
  const verdict = ratio >= throughputGoal ? "met" : "MISSED";
  console.log(
    `throughput  10^3  base64  ${`${typescript.toFixed(0)} calls/s`.padEnd(26)} ${`${python.toFixed(0)} calls/s`.padEnd(26)} ${ratio.toFixed(1)}    ${throughputGoal} ${verdict}`,
  );
}

/** No server: what a call in this process costs. */
async function inProcess(): Promise<void> {
  const size = 1e3;
  await using program = node(here("serve-in-process.ts"), String(size));
  const { itself, call } = JSON.parse(await program.line()) as { readonly itself: number; readonly call: number };
  const more = round(call - itself);
  const row = { bench: "in-process", size, encoding: "none", typescript_ms: round(call), python_ms: null };
  rows.push({ ...row, ratio: more, goal: inProcessGoal });
  const verdict = `${inProcessGoal} ${more <= inProcessGoal ? "met" : "MISSED"}`;
  console.log(
    `in-process  10^3  none    ${`${(1000 * call).toFixed(1)} µs`.padEnd(26)} ${`itself ${(1000 * itself).toFixed(1)} µs`.padEnd(26)} ${more.toFixed(3)}  ${verdict}`,
  );
}

const folder = await mkdtemp(join(tmpdir(), "tesseract-bench-serve-"));
try {
  console.log(`Node ${process.version}, ${cpus()[0]?.model.trim()}, ${cpus().length} cores; medians (middle half)`);
  console.log(`${"".padEnd(25)} ${"TypeScript, ms".padEnd(26)} ${"Python, ms".padEnd(26)} ratio  goal`);
  await using runtime = await startRuntime({ fixture: here("tesseract_api.py") });
  await using server = node(here("served.ts"), join(folder, "out"));
  const ours = { url: await server.line(), inputPath: folder, outputPath: join(folder, "out") };
  const { url, inputPath, outputPath } = runtime;
  const servers = [ours, { url, inputPath, outputPath }] as const;
  await endToEnd(servers, "base64");
  await throughput(servers);
  await inProcess();
} finally {
  await rm(folder, { recursive: true, force: true });
}
await writeFile(join(repositoryRoot, "bench/results/serve.json"), `${JSON.stringify(rows, null, 2)}\n`);
console.log("Written to bench/results/serve.json");
