/** What the command line asks for. Node's own parser is enough for it, and nothing has to be installed. */
import { parseArgs } from "node:util";
import { CudaSimulatorError, reasonOf } from "../errors.js";
import { parseFault } from "../settings/faults.js";
import { type MachineSettings, nameText, type ProcessSettings, variablesOf } from "../settings/settings.js";

export const HELP = `Runs programs on simulated GPUs, and shows what they did with them.

cuda-simulator run [OPTIONS] -- COMMAND...   run a program on a simulated machine
  --devices N          1 to 16 GPUs (1)
  --memory SIZE        of each, such as 256MiB or 2GiB (1GiB)
  --delay TIME         how late queued work starts: 5ms, 1ms..20ms, or lazy (1ms)
  --seed N             of the random delays
  --strict             what CUDA leaves undefined is an error
  --fault SPEC         cuMemAlloc@3=2, cuMemcpyDtoH@1=stall:500ms, cuMemFree@*=die, async:cuMemcpyDtoDAsync@2=719;
                       may be given more than once
  --leaks              at the end, say what leaked and what was hazardous
  --trace FILE         write a trace; what was in the file is replaced
  --append             add to the trace instead
  --machine NAME       join or start the machine of this name, to have several programs on it; otherwise a new one
  --host NAME          on this simulated host of the machine
  --peers              the devices can access each other's memory

cuda-simulator report FILE                   a table of a trace: calls, bytes, copies to the host, hazards, leaks
  --timeline OUT       and a timeline: OUT.json for https://ui.perfetto.dev, OUT.html to open in a browser

cuda-simulator status [MACHINE]              devices, memory in use and processes of the machines that run now
  --json               as JSON

cuda-simulator build                         build the simulator's libraries, once; needs cmake and g++
  --tests              and its native tests
  --rules              only the program that checks the simulator's rules on any CUDA driver

cuda-simulator --help, --version
`;

export interface RunRequest {
  readonly command: "run";
  readonly program: string;
  readonly args: readonly string[];
  readonly settings: MachineSettings & ProcessSettings;
  readonly machine: string | undefined;
  readonly trace: string | undefined;
  readonly append: boolean;
  readonly summary: boolean;
}

export interface ReportRequest {
  readonly command: "report";
  readonly file: string;
  readonly timeline: string | undefined;
}

export interface StatusRequest {
  readonly command: "status";
  readonly machine: string | undefined;
  readonly json: boolean;
}

export interface BuildRequest {
  readonly command: "build";
  readonly tests: boolean;
  readonly rules: boolean;
}

export type Request =
  | RunRequest
  | ReportRequest
  | StatusRequest
  | BuildRequest
  | { readonly command: "help" | "version" };

/** @throws CudaSimulatorError USAGE, INVALID_OPTION */
export function parseCommandLine(args: readonly string[]): Request {
  const [command, ...rest] = args;
  const options = rest.includes("--") ? rest.slice(0, rest.indexOf("--")) : rest;
  if (command === "-h" || command === "--help" || command === "help") return { command: "help" };
  if (command === "-V" || command === "--version") return { command: "version" };
  if (options.includes("--help") || options.includes("-h")) return { command: "help" };
  switch (command) {
    case "run":
      return parseRun(rest);
    case "report":
      return parseReport(rest);
    case "status":
      return parseStatus(rest);
    case "build":
      return parseBuild(rest);
    case undefined:
      throw usage("There is no command");
    default:
      throw usage(command.startsWith("-") ? `Unknown option ${command}` : `Unknown command ${command}`);
  }
}

const flag = { type: "boolean" } as const;
const text = { type: "string" } as const;

function parseRun(args: readonly string[]): RunRequest {
  const behind = args.indexOf("--");
  const own = behind < 0 ? args : args.slice(0, behind);
  const { values, positionals } = parsed(() =>
    parseArgs({
      args: [...own],
      allowPositionals: true,
      options: {
        devices: text,
        memory: text,
        delay: text,
        seed: text,
        strict: flag,
        fault: { type: "string", multiple: true },
        leaks: flag,
        trace: text,
        append: flag,
        machine: text,
        host: text,
        peers: flag,
      },
    }),
  );
  const [program, ...rest] = behind < 0 ? [] : args.slice(behind + 1);
  if (positionals.length > 0 || program === undefined) {
    const example = positionals.length > 0 ? positionals.join(" ") : "python3 program.py";
    throw usage("The program to run comes behind --", `Such as: cuda-simulator run --devices 2 -- ${example}`);
  }
  const { devices, memory, delay, seed, strict, fault, peers, host, machine } = values;
  if (values.append === true && values.trace === undefined) throw usage("--append needs --trace");
  const settings = {
    devices: devices === undefined ? undefined : wholeNumber(devices, "--devices"),
    memory,
    delay,
    seed: seed === undefined ? undefined : BigInt(wholeNumber(seed, "--seed")),
    strict,
    peers,
    host,
    faults: fault?.map(parseFault),
  };
  variablesOf(settings); // here, so that it is said before anything is made
  return {
    command: "run",
    program,
    args: rest,
    settings,
    machine: machine === undefined ? undefined : nameText(machine, "--machine"),
    trace: values.trace,
    append: values.append === true,
    summary: values.leaks === true,
  };
}

function parseReport(args: readonly string[]): ReportRequest {
  const { values, positionals } = parsed(() =>
    parseArgs({ args: [...args], allowPositionals: true, options: { timeline: text } }),
  );
  const [file, more] = positionals;
  if (file === undefined || more !== undefined) throw usage("report takes one trace: cuda-simulator report FILE");
  const { timeline } = values;
  if (timeline !== undefined && !/\.(?:json|html?)$/.test(timeline)) {
    throw usage(`--timeline ${timeline}: a timeline is a .json or an .html file`);
  }
  return { command: "report", file, timeline };
}

function parseStatus(args: readonly string[]): StatusRequest {
  const { values, positionals } = parsed(() =>
    parseArgs({ args: [...args], allowPositionals: true, options: { json: flag } }),
  );
  const [machine, more] = positionals;
  if (more !== undefined) throw usage("status takes one machine at most: cuda-simulator status MACHINE");
  return { command: "status", machine, json: values.json === true };
}

function parseBuild(args: readonly string[]): BuildRequest {
  const { values } = parsed(() => parseArgs({ args: [...args], options: { tests: flag, rules: flag } }));
  const { tests = false, rules = false } = values;
  if (tests && rules) throw usage("build takes --tests or --rules");
  return { command: "build", tests, rules };
}

function parsed<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    // Node goes on about positional arguments, which isn't what was meant.
    throw usage(reasonOf(error).split(". ")[0] ?? "", undefined, error);
  }
}

function wholeNumber(digits: string, name: string): number {
  if (!/^\d{1,15}$/.test(digits)) throw usage(`${name} is '${digits}'; it must be a whole number`);
  return Number(digits);
}

function usage(
  problem: string,
  hint = "cuda-simulator --help tells what there is.",
  cause?: unknown,
): CudaSimulatorError {
  return new CudaSimulatorError("USAGE", problem, { hint, cause });
}
