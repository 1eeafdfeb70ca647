/** `tesseract-ts doctor`: how arrays can travel between this process and a Tesseract, and what to do where they can't. */
import { arch, platform } from "node:os";
import {
  type GpuTransportCheck,
  type GpuTransportExplanation,
  type Tesseract,
  TesseractError,
  type Transport,
} from "@tesseract-ts/core";
import { transportsFor } from "../../start/gpu-transports.js";
import { command } from "../command.js";
import { hintFor } from "../doctor-hints.js";
import { EXIT } from "../failure.js";
import { type OpenOptions, type OpenTarget, openTarget, type TargetOptions, targetOptions } from "../target.js";
import { oneLine, type Style, styleFor } from "../terminal/style.js";

const GPU_TRANSPORT = "cuda_ipc";

/** A line of the diagnosis. */
interface Finding {
  readonly state: "ok" | "no" | "info";
  readonly what: string;
  /** How it can be had. */
  readonly hint?: string | undefined;
}

export const doctor = command({
  name: "doctor",
  summary: "Find out how arrays travel to a Tesseract, and how to keep them on the GPU.",
  arguments: [{ name: "TARGET", help: "a URL, a file (.ts, .mts, .js, .mjs, .py), or a container image" }],
  options: targetOptions,
  about: [
    "Each line says what was found; where something can't be used, the line below says what to do. Arrays always get there: where no GPU transport works, they go through the host's memory.",
    "The exit code is 1 only if a GPU transport that was asked for, by --gpu-transport, doesn't work.",
  ],
  examples: [
    { command: "tesseract-ts doctor http://localhost:8000", what: "a Tesseract that is being served" },
    {
      command: "tesseract-ts doctor heat:latest --gpus all --gpu-transport cuda_ipc",
      what: "a container image, whose GPU arrays are to stay where they are",
    },
  ],
  async run({ options, given: [target = ""], terminal, progress, json }) {
    const findings: Finding[] = [{ state: "info", what: `Node ${process.versions.node} on ${platform()}-${arch()}` }];
    const device = await deviceTransport(options["gpu-transport"] ?? GPU_TRANSPORT);
    if ("finding" in device) findings.push(device.finding);
    const transport = "transport" in device ? device.transport : undefined;
    const { opened, refusal } = await open(target, options, {
      terminal,
      progress,
      ...(transport === undefined ? {} : { device: transport }),
    });
    await using held = opened;
    const { tesseract } = held;
    findings.push(...serverFindings(tesseract));
    if (refusal !== undefined) findings.push(refusal);
    progress.count("Trying the GPU transports");
    const explanation = await tesseract.explainGpuTransport();
    progress.end();
    findings.push(...explanation.checks.map((check) => checkFinding(check)));
    const verdict = verdictOf(explanation, options["gpu-transport"]);
    if (json)
      terminal.out.write(
        `${JSON.stringify({ ...explanation, resolved: explanation.resolved ?? null, findings: [...findings, verdict] })}\n`,
      );
    else {
      const style = styleFor(terminal.out, terminal);
      terminal.out.write(`${[...findings, verdict].flatMap((finding) => linesOf(finding, style)).join("\n")}\n`);
    }
    return verdict.state === "no" ? EXIT.failed : EXIT.ok;
  },
});

async function deviceTransport(
  name: string,
): Promise<{ readonly transport: Transport } | { readonly finding: Finding }> {
  if (name === "none") return { finding: { state: "info", what: "No GPU transport is asked for" } };
  try {
    const transport = (await transportsFor(name, {})).flat().find((each) => each.carries === "device");
    if (transport !== undefined) return { transport };
    return { finding: { state: "no", what: `${name}: no package has it` } };
  } catch (error) {
    if (!(error instanceof TesseractError)) throw error;
    return { finding: { state: "no", what: `${name}, here: ${error.message}`, hint: error.hint } };
  }
}

/** Where the server can't allow the GPU transport, it is started without it, and why is a finding. */
async function open(
  target: string,
  options: TargetOptions,
  { device, ...more }: OpenOptions,
): Promise<{ readonly opened: OpenTarget; readonly refusal: Finding | undefined }> {
  const withDevice = device === undefined ? more : { ...more, device, offerGpuTransport: device.name };
  const plain: TargetOptions = { ...options, "gpu-transport": undefined };
  try {
    return { opened: await openTarget(target, plain, withDevice), refusal: undefined };
  } catch (error) {
    const isRefused = error instanceof TesseractError && refusals.has(error.code);
    if (!isRefused || device === undefined) throw error;
    const refusal: Finding = {
      state: "no",
      what: `${device.name}, at the Tesseract: ${error.message}`,
      hint: error.hint,
    };
    return { opened: await openTarget(target, plain, more), refusal };
  }
}

const refusals: ReadonlySet<string> = new Set([
  "TRANSPORT_MISSING",
  "TRANSPORT_UNUSABLE",
  "INVALID_ARGUMENT",
  "START_FAILED",
  "ENGINE_FAILED",
  "CUDA_UNAVAILABLE",
]);

function serverFindings(tesseract: Tesseract): readonly Finding[] {
  const { serverCapabilities: offered, availableEndpoints, currentEncoding } = tesseract;
  const list = (names: readonly string[] | undefined, otherwise: string): string => names?.join(", ") ?? otherwise;
  return [
    { state: "ok", what: `The Tesseract answers; it has ${availableEndpoints.join(", ")}` },
    {
      state: "ok",
      what: `Through the host: ${list(offered?.outputFormats, "json, json+base64, json+binref (a runtime before 1.13 doesn't say)")}; ${currentEncoding.outputFormat ?? "json+base64"} is used`,
    },
    { state: "info", what: `Compressions: ${list(offered?.compressions, "it doesn't say")}` },
    {
      state: "info",
      what: `GPU transports that it allows: ${list(offered?.gpuTransports, "none; runtimes before 1.15 have none")}`,
    },
  ];
}

function checkFinding({ transport, outcome, reason = "", hint }: GpuTransportCheck): Finding {
  switch (outcome) {
    case "ok":
      return { state: "ok", what: `${transport}: a small array went to the Tesseract's GPU and back` };
    case "not_offered":
      return { state: "no", what: `${transport}: not offered. ${reason}`, hint };
    case "unusable":
      return { state: "no", what: `${transport}: this process can't use it: ${reason}`, hint };
    case "failed":
      return {
        state: "no",
        what: `${transport}: the two sides can't exchange arrays by it: ${reason}`,
        hint: hint ?? hintFor(reason),
      };
  }
}

function verdictOf({ checks }: GpuTransportExplanation, asked: string | undefined): Finding {
  const working = checks.find(
    ({ transport, outcome }) => outcome === "ok" && (asked === undefined || transport === asked),
  );
  if (working !== undefined) return { state: "ok", what: `GPU arrays stay on the GPU, by ${working.transport}` };
  if (asked === undefined || asked === "none") return { state: "info", what: "GPU arrays go through the host" };
  return { state: "no", what: `${asked} was asked for, and doesn't work` };
}

function linesOf({ state, what, hint }: Finding, style: Style): readonly string[] {
  const mark = { ok: style("green", "ok  "), no: style("yellow", "no  "), info: style("dim", "--  ") }[state];
  return [mark + oneLine(what), ...(hint === undefined ? [] : [`    ${style("cyan", "→")} ${oneLine(hint)}`])];
}
