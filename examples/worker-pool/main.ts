// Runs the same sweep on pools of different sizes, then on one of which a process is killed, and shows what came of it.

import { writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { fromUrl, TesseractError } from "@tesseract-ts/core";
import { host } from "@tesseract-ts/transport-host";
import { bold, dim, green, printRows, red } from "../heat/print.js";
import { picture, type Throughput } from "./picture.js";
import { type Pool, startPool } from "./pool.js";
import { endLine, showProgress } from "./progress.js";
import { type Answer, type Pendulum, type Progress, sweep } from "./sweep.js";

const HELP = `npm start -w examples/worker-pool [-- OPTIONS]

  --sets N        how many parameters: 200
  --periods N     periods of each simulation, which takes longer with more: 400
  --workers LIST  sizes of the pool: 1,2, and as many as there are processors
  --no-kill       leave out the sweep in which a process is killed
  --picture FILE  writes a picture of the results, an SVG`;

/** The drives of the first and of the last pendulum. */
const [FIRST, LAST] = [0.9, 1.5];

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => stop.abort(signal));

interface Settings {
  readonly drives: readonly number[];
  readonly periods: number;
  readonly workers: readonly number[];
  readonly kill: boolean;
  readonly picture: string | undefined;
}

try {
  const { values } = parseArgs({
    options: {
      sets: { type: "string", default: "200" },
      periods: { type: "string", default: "400" },
      workers: { type: "string" },
      "no-kill": { type: "boolean", default: false },
      picture: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const sizes = values.workers?.split(",").map((each) => whole("workers", each)) ?? [1, 2, availableParallelism()];
  const sets = whole("sets", values.sets);
  if (values.help) console.log(HELP);
  else
    await run({
      drives: Array.from({ length: sets }, (_, i) => FIRST + ((LAST - FIRST) * i) / Math.max(1, sets - 1)),
      periods: whole("periods", values.periods),
      workers: [...new Set(sizes)].sort((a, b) => a - b),
      kill: !values["no-kill"],
      picture: values.picture,
    });
} catch (error) {
  if (!stop.signal.aborted) {
    console.error(error instanceof TesseractError ? `${error.message}\n${error.hint ?? ""}` : error);
    process.exitCode = 1;
  }
}
if (stop.signal.aborted) {
  endLine();
  console.log("Stopped: the server and its processes have ended.");
  process.kill(process.pid, stop.signal.reason); // end the way we were asked to
}

async function run({ drives, periods, workers, kill, picture: file }: Settings): Promise<void> {
  console.log(bold(`\n${drives.length} pendulums, ${drives[0]} to ${drives.at(-1)} in their drive\n`));
  const throughputs: Throughput[] = [];
  const sweeps: (readonly Answer[])[] = [];
  const measure = async (pool: Pool): Promise<void> => {
    const { answers, seconds, progress } = await sweepOn(pool, drives, periods);
    throughputs.push({ workers: pool.workers, seconds, busy: progress.busy });
    sweeps.push(answers);
  };
  for (const count of workers.slice(0, -1)) {
    await using pool = await startPool(count, stop.signal);
    await measure(pool);
  }
  {
    // The largest, of which one process can be missed.
    await using pool = await startPool(workers.at(-1) ?? 1, stop.signal);
    await measure(pool);
    printThroughputs(throughputs, drives.length);
    if (kill && pool.workers > 1) sweeps.push(await sweepWithoutOne(pool, drives, periods));
  }
  const [first = []] = sweeps;
  const same = sweeps.every((answers) => equal(first, answers));
  const chaotic = first.filter(({ exponent }) => exponent > 0.01).length;
  console.log(bold("\nResults"));
  printRows([
    ["chaotic", `${chaotic} of ${drives.length}: two motions part, however close they were`],
    ["answers", same ? green("✓ complete, and the same from each sweep") : red("✗ they differ")],
  ]);
  console.log();
  if (!same) process.exitCode = 1;
  if (file !== undefined) await writeFile(file, picture(first, throughputs));
}

interface Swept {
  readonly answers: readonly Answer[];
  readonly progress: Progress;
  readonly seconds: number;
}

/** @param onAnswer is told of each answer, after it was shown */
async function sweepOn(
  { url, workers, pid }: Pool,
  drives: readonly number[],
  periods: number,
  onAnswer: (answer: Answer, progress: Progress) => void = () => {},
): Promise<Swept> {
  const name = workers === 1 ? "1 worker" : `${workers} workers`;
  console.log(dim(`  server ${pid} at ${url}`));
  // For each process two: the next is there when one is done.
  const concurrency = 2 * workers;
  await using pendulum = await fromUrl<Pendulum>(url, {
    transports: [host()],
    connections: concurrency,
    signal: stop.signal,
  });
  const start = performance.now();
  const swept = await sweep(pendulum, drives, {
    periods,
    concurrency,
    signal: stop.signal,
    onAnswer: (answer, progress) => {
      showProgress(name, progress);
      onAnswer(answer, progress);
    },
  });
  return { ...swept, seconds: (performance.now() - start) / 1000 };
}

/** Kills the process that has answered last, when a third of the answers are there. */
async function sweepWithoutOne(pool: Pool, drives: readonly number[], periods: number): Promise<readonly Answer[]> {
  console.log(bold("\nThe same, and one of the processes is killed\n"));
  let killed = 0;
  let before = 0;
  const { answers, progress } = await sweepOn(pool, drives, periods, ({ pid }, { done }) => {
    if (killed > 0 || done < drives.length / 3) return;
    killed = pid;
    before = done;
    process.kill(pid, "SIGKILL");
  });
  const others = new Set(answers.map(({ pid }) => pid));
  others.delete(killed);
  console.log();
  printRows([
    ["killed", `process ${killed}, after ${before} answers`],
    ["calls", `${progress.lost} were lost with it and made again, ${progress.busy} found the others busy and waited`],
    ["answers", `${answers.length} of ${drives.length}, by ${others.size} processes besides the one that was killed`],
  ]);
  return answers;
}

function printThroughputs(throughputs: readonly Throughput[], count: number): void {
  const [one] = throughputs;
  console.log(`\n${bold("Throughput")} ${dim(`on ${availableParallelism()} processors`)}`);
  printRows([
    ["workers", dim(["seconds", "a second", "faster", "busy"].map((head) => head.padStart(10)).join(""))],
    ...throughputs.map(({ workers, seconds, busy }): [string, string] => [
      String(workers),
      [
        seconds.toFixed(2),
        (count / seconds).toFixed(1),
        `${((one?.seconds ?? 0) / seconds).toFixed(2)} ×`,
        String(busy),
      ]
        .map((cell) => cell.padStart(10))
        .join(""),
    ]),
  ]);
}

function equal(a: readonly Answer[], b: readonly Answer[]): boolean {
  return a.length === b.length && a.every(({ exponent }, i) => exponent === b[i]?.exponent);
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new RangeError(`--${name} ${text} is no whole number above 0.`);
  return value;
}
