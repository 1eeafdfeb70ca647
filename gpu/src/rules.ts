/** Runs the simulator's rules against a driver; they are a program of their own. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Finding } from "./results.js";

/** In a bundle, and in a clone. */
const places = ["../rules", "../../packages/cuda-simulator/native/build/rules/bin/rules"];
/** Of one rule, before it counts as failed. */
const RULE_SECONDS = "20";

export interface RulesOptions {
  /** Looked for if left out. */
  readonly program: string | undefined;
  readonly driver: string;
  readonly runtime: string | undefined;
  readonly only: string;
  readonly env: NodeJS.ProcessEnv;
  readonly until: number;
  readonly onRule: (line: string) => void;
}

export async function runRules(options: RulesOptions): Promise<Finding[]> {
  const start = performance.now();
  const finding = (status: Finding["status"], name: string, detail: string): Finding => ({
    group: "rules",
    name,
    status,
    detail,
    milliseconds: performance.now() - start,
  });
  const program = [options.program, ...places.map((place) => fileURLToPath(new URL(place, import.meta.url)))].find(
    (path) => path !== undefined && existsSync(path),
  );
  if (program === undefined) {
    return [finding("skipped", "all rules", "they aren't built: npm run build:rules -w packages/cuda-simulator")];
  }
  const args = ["--driver", options.driver];
  if (options.runtime !== undefined) args.push("--runtime", options.runtime);
  if (options.only !== "") args.push("--only", options.only);
  const found = await readRules(program, args, options);
  const summary = `${found.passed} passed, ${found.failed.length} failed, ${found.skipped} skipped`;
  const failures = found.failed.map(({ rule, why }) => finding("failed", rule, why));
  if (found.passed + found.skipped + found.failed.length === 0) {
    return [finding("failed", "all rules", found.late ? "no time left" : `nothing ran: ${found.said}`)];
  }
  const all = finding(failures.length > 0 ? "failed" : "passed", "rules of CUDA that the simulator keeps", summary);
  const rest = found.late ? [finding("skipped", "the other rules", "no time left")] : [];
  const unended = found.ended !== undefined ? [finding("failed", "the program of the rules", found.ended)] : [];
  return [all, ...failures, ...rest, ...unended];
}

interface Read {
  passed: number;
  skipped: number;
  readonly failed: { readonly rule: string; readonly why: string }[];
  /** Ended because there was no time left. */
  late: boolean;
  said: string;
  /** How it ended, if not as it should. */
  ended: string | undefined;
}

/** Lines of the Test Anything Protocol: what was found comes before the line of its rule. */
async function readRules(program: string, args: readonly string[], options: RulesOptions): Promise<Read> {
  const read: Read = { passed: 0, skipped: 0, failed: [], late: false, said: "", ended: undefined };
  // On the simulator some rules provoke what CUDA leaves undefined: that doesn't belong into the suite's own trace.
  const { CUDA_SIMULATOR_TRACE: _, ...env } = options.env;
  const child = spawn(program, args, {
    env: { RULES_SECONDS: RULE_SECONDS, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const kill = (): void => {
    if (child.pid === undefined || child.exitCode !== null) return;
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch (error) {
      if ((error as { code?: string }).code !== "ESRCH") throw error;
    }
  };
  process.once("exit", kill);
  const timer = setTimeout(
    () => {
      read.late = true;
      kill();
    },
    Math.max(0, options.until - Date.now()),
  );
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    read.said = (read.said + text).slice(-500);
  });
  const closed = new Promise<string | undefined>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) =>
      resolve(code === 0 || code === 1 ? undefined : `it ended with ${signal ?? code}`),
    );
  });
  let remarks: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    const [, not, rule, skip] = /^(not )?ok \d+ - (.*?)( # SKIP .*)?$/.exec(line) ?? [];
    if (rule === undefined) {
      remarks.push(line.replace(/^# */, "").trim());
      continue;
    }
    if (skip !== undefined) read.skipped++;
    else if (not === undefined) read.passed++;
    else read.failed.push({ rule, why: remarks.join("; ") });
    remarks = [];
    options.onRule(rule);
  }
  const how = await closed;
  clearTimeout(timer);
  process.off("exit", kill);
  if (!read.late) read.ended = how;
  return read;
}

/** Where `libcudart` usually is. */
export function findRuntime(env: NodeJS.ProcessEnv): string | undefined {
  const folders = [
    ...(env.LD_LIBRARY_PATH ?? "").split(":").filter((folder) => folder !== ""),
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
  ];
  const names = ["libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"];
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find((path) => existsSync(path));
}
