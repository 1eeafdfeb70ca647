/** The whole of it: checks, measurements, rules, each within its time. */
import { cpus, release, totalmem } from "node:os";
import type { Options } from "./options.js";
import { messageOf, Remote, Skipped } from "./remote.js";
import { counted, type DriverFound, type Finding, isSimulator, type Results, type SizeRow } from "./results.js";
import { findRuntime, runRules } from "./rules.js";
import type { operations, WorkerNote } from "./worker.js";

/** Of one check: the first call of a driver may take long, and so may the start of Python. */
const CHECK_MS = 90_000;
/** Of the time, what is left for the rules: they start hundreds of processes. */
const RULES_SHARE = 0.4;

export interface SuiteOptions extends Options {
  /** For every process that speaks to the driver. */
  readonly env: NodeJS.ProcessEnv;
  readonly onProgress: (line: string) => void;
}

/** Never rejects for what a check or a measurement does. */
export async function runSuite(options: SuiteOptions): Promise<Results> {
  const start = Date.now();
  const end = start + options.minutes * 60_000;
  const findings: Finding[] = [];
  const sizes: SizeRow[] = [];
  let copyBandwidth: number | undefined;
  const worker = new Worker(options.env, ({ row, bandwidth }) => {
    sizes.push(row);
    copyBandwidth = Math.max(copyBandwidth ?? 0, bandwidth ?? 0) || undefined;
    options.onProgress(`measured ${row.bytes} bytes`);
  });
  const add = (finding: Finding): void => {
    findings.push(finding);
    options.onProgress(
      `${finding.status}: ${finding.group}: ${finding.name} ${finding.status === "passed" ? "" : finding.detail}`,
    );
  };

  let driver: DriverFound | undefined;
  let python: Results["python"];
  try {
    const probed = await worker.run(CHECK_MS, (remote) => remote.call("probe"));
    if ("reason" in probed)
      add({ group: "driver", name: "driver and devices", status: "failed", detail: probed.reason, milliseconds: 0 });
    else driver = probed;
    if (driver !== undefined) {
      const found = await worker.run(CHECK_MS, (remote) => remote.call("python"));
      python =
        "parts" in found
          ? { program: found.program, ...found.parts }
          : { program: found.program, missing: found.missing };
      for (const [group, name] of await worker.run(CHECK_MS, (remote) => remote.call("list"))) {
        add(
          await checked(group, name, end, (limit) => worker.run(limit, (remote) => remote.call("check", group, name))),
        );
      }
    }
    if (driver !== undefined && options.measurements) {
      const until = options.rules === undefined ? end : start + (end - start) * (1 - RULES_SHARE);
      const limit = Math.max(0, until - Date.now()) + 30_000;
      const finding = await checked("measurements", "sizes", end, () =>
        worker.run(limit, async (remote) => {
          await remote.call("measure", options.most, until);
          const failures = sizes.flatMap(({ bytes, copy, message, apply }) =>
            [copy, message, ...Object.values(apply)].flatMap((timing) =>
              "skipped" in timing && timing.skipped.startsWith("failed") ? [`${bytes} bytes ${timing.skipped}`] : [],
            ),
          );
          if (failures.length > 0) throw new Error(failures.join("; "));
          return `${sizes.length} sizes`;
        }),
      );
      add(finding);
    }
  } catch (error) {
    add({ group: "suite", name: "its process", status: "failed", detail: messageOf(error), milliseconds: 0 });
  } finally {
    await worker.end();
  }

  const rules = driver === undefined || options.rules === undefined ? [] : await ruled(options, options.rules, end);
  for (const finding of rules) add(finding);
  return {
    format: 1,
    simulated: isSimulator(driver),
    date: new Date(start).toISOString(),
    node: process.versions.node,
    machine: { kernel: `Linux ${release()}`, processors: cpus().length, memory: totalmem() },
    driver,
    python,
    findings: [...rules, ...findings.filter((finding) => !rules.includes(finding))],
    sizes,
    copyBandwidth,
    seconds: (Date.now() - start) / 1e3,
  };
}

/** 2 if nothing could be checked. */
export function exitCodeOf({ findings, driver }: Results): number {
  const { passed, failed } = counted(findings);
  if (driver === undefined || passed + failed === 0) return 2;
  return failed > 0 ? 1 : 0;
}

function ruled(options: SuiteOptions, only: string, until: number): Promise<Finding[]> {
  let count = 0;
  return runRules({
    program: options.rulesProgram,
    driver: options.driver ?? "libcuda.so.1",
    runtime: options.runtime ?? findRuntime(options.env),
    only,
    env: options.env,
    until,
    onRule: (rule) => {
      if (++count % 20 === 0) options.onProgress(`${count} rules, the last: ${rule}`);
    },
  });
}

async function checked(
  group: string,
  name: string,
  end: number,
  work: (limit: number) => Promise<string>,
): Promise<Finding> {
  const start = performance.now();
  const finding = (status: Finding["status"], detail: string): Finding => ({
    group,
    name,
    status,
    detail,
    milliseconds: performance.now() - start,
  });
  const left = end - Date.now();
  if (left <= 0) return finding("skipped", "no time left");
  try {
    return finding("passed", await work(Math.min(CHECK_MS, left)));
  } catch (error) {
    return finding(error instanceof Skipped ? "skipped" : "failed", messageOf(error));
  }
}

/** The process that speaks to the driver. One that dies or hangs is replaced. */
class Worker {
  private remote: Remote<typeof operations> | undefined;

  constructor(
    private readonly env: NodeJS.ProcessEnv,
    private readonly onRow: (note: WorkerNote) => void,
  ) {}

  async run<T>(limit: number, work: (remote: Remote<typeof operations>) => Promise<T>): Promise<T> {
    if (this.remote?.isAlive !== true) {
      this.remote = Remote.start<typeof operations>("./worker.js", {
        env: this.env,
        onNote: (note) => this.onRow(note as WorkerNote),
      });
    }
    const remote = this.remote;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Late(`no answer within ${Math.round(limit / 1e3)} s; its process was ended`)),
        limit,
      );
    });
    try {
      return await Promise.race([work(remote), late]);
    } catch (error) {
      if (error instanceof Late) await remote.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async end(): Promise<void> {
    if (this.remote?.isAlive !== true) return;
    await this.run(10_000, (remote) => remote.call("leave")).catch(() => {}); // it is killed next
    await this.remote.kill();
  }
}

class Late extends Error {}
