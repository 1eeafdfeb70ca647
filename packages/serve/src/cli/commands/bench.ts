/** `tesseract-ts bench`: how long calls take and how many go through, by size and transport. */
import { availableParallelism } from "node:os";
import {
  bytesOf,
  type HostArray,
  isHostArray,
  type Tesseract,
  TesseractError,
  type Transport,
} from "@tesseract-ts/core";
import { transportsFor } from "../../start/gpu-transports.js";
import { arraysOf } from "../arrays/summary.js";
import { measure } from "../bench/measure.js";
import { type Row, svgOf, tableLines } from "../bench/picture.js";
import { command, type Options, type Values } from "../command.js";
import { EXIT, UsageError } from "../failure.js";
import { decoded, readJson, requestOf, type Tree, withArrays } from "../request.js";
import { exampleInputs } from "../schema/example-inputs.js";
import { applySchemasOf } from "../schema/schema-tree.js";
import { openTarget, type TargetKind, targetOptions } from "../target.js";
import { numberText } from "../terminal/amounts.js";
import { styleFor } from "../terminal/style.js";
import { writeResult } from "../write-result.js";

const { format: _, "gpu-transport": __, ...otherOptions } = targetOptions;

const options = {
  sizes: { kind: "text", value: "N,N,…", help: "elements of arrays that are made from the schema (1e3,1e5,1e6)" },
  transports: {
    kind: "text",
    value: "NAME,NAME,…",
    help: "of json+base64, json, json+binref and cuda_ipc (all that work; json only up to 1e5)",
  },
  seconds: { kind: "number", value: "S", least: 0.001, help: "of each measurement, two for each row (0.5)" },
  connections: { kind: "number", value: "N", whole: true, least: 1, help: "calls at once, for the throughput (4)" },
  svg: { kind: "text", value: "FILE", help: "draw a picture" },
  ...otherOptions,
} as const satisfies Options;

type Given = Values<typeof options>;

const DEFAULT_SIZES = [1e3, 1e5, 1e6];
/** Text of more numbers than this takes so long that it isn't tried unasked. */
const MOST_IN_TEXT = 1e5;
const MOST_ELEMENTS = 1e8;

export const bench = command({
  name: "bench",
  summary: "Measure latency and throughput of apply, by size and transport.",
  arguments: [
    { name: "TARGET", help: "a URL, a file (.ts, .mts, .js, .mjs, .py), or a container image" },
    {
      name: "JSON",
      help: "the inputs; made from the schema, in several sizes, if left out. @FILE for a file's, - for standard input's",
      optional: true,
    },
  ],
  options,
  about: [
    "What is measured is the whole call: encoding, HTTP, the Tesseract's own work, decoding. With a Tesseract that does little, it is the transport that is measured. Bars are drawn to one scale for each size.",
  ],
  examples: [
    {
      command: "tesseract-ts bench http://localhost:8000 --svg bench.svg",
      what: "a Tesseract that is being served, with a picture",
    },
    {
      command: "tesseract-ts bench tesseract.ts --sizes 1e4 --transports json+base64,json+binref --seconds 2",
      what: "two transports, more exactly",
    },
  ],
  async run({ options: given, given: [target = "", json], terminal, progress, json: asJson }) {
    const read = json === undefined ? undefined : await readJson(json, "the inputs", terminal);
    const own = read === undefined ? undefined : requestOf(await decoded(read.value, read.directory), []).inputs;
    if (own !== undefined && given.sizes !== undefined)
      throw new UsageError("--sizes is for inputs that are made from the schema");
    const sizes = own === undefined ? sizesOf(given.sizes) : [undefined];
    const device = await deviceTransport(given.transports);
    await using opened = await openTarget(
      target,
      { ...given, format: undefined, "gpu-transport": undefined },
      { terminal, progress, ...(device === undefined ? {} : { device, offerGpuTransport: device.name }) },
    );
    const { tesseract } = opened;
    const schemas = applySchemasOf(tesseract.openapiSchema);
    const transports = await transportsOf(tesseract, given.transports, device, opened.kind);
    const rows: Row[] = [];
    for (const size of sizes) {
      const inputs = withArrays(schemas, own ?? exampleInputs(schemas, { elements: size ?? 1, seed: 1 }));
      for (const transport of transports) {
        const isText = transport.name === "json" && (size ?? 0) > MOST_IN_TEXT && given.transports === undefined;
        if (isText) continue;
        progress.count(`Measuring ${transport.name}${size === undefined ? "" : `, ${numberText(size)} elements`}`);
        rows.push(await rowOf(transport, inputs, given, terminal.signal));
      }
    }
    progress.end();
    const title = `apply of ${schemas.title}`;
    if (given.svg !== undefined) await writeResult(svgOf(title, rows), given.svg, terminal);
    if (asJson) terminal.out.write(`${JSON.stringify({ tesseract: schemas.title, rows })}\n`);
    else {
      const connections = given.connections ?? 4;
      const style = styleFor(terminal.out, terminal);
      const about = `${title}; throughput with ${connections} calls at once; Node ${process.versions.node}, ${availableParallelism()} processors`;
      terminal.out.write(`${[about, "", ...tableLines(rows, terminal.out.columns, style)].join("\n")}\n`);
    }
    return EXIT.ok;
  },
});

function sizesOf(given: string | undefined): readonly number[] {
  if (given === undefined) return DEFAULT_SIZES;
  return given.split(",").map((text) => {
    const size = Number(text);
    if (Number.isInteger(size) && size >= 1 && size <= MOST_ELEMENTS && text.trim() !== "") return size;
    throw new UsageError(
      `--sizes has "${text}", which is no number of elements`,
      "Such as --sizes 1e3,1e5; up to 1e8.",
    );
  });
}

/** Undefined where GPU arrays aren't asked for, and can't be had. */
async function deviceTransport(wanted: string | undefined): Promise<Transport | undefined> {
  if (wanted !== undefined && !wanted.split(",").includes("cuda_ipc")) return undefined;
  try {
    const device = (await transportsFor("cuda_ipc", {})).flat().find((transport) => transport.carries === "device");
    const probe = await device?.probe();
    if (probe?.ok === true) return device;
    if (wanted === undefined || probe === undefined) return undefined;
    throw new TesseractError("TRANSPORT_UNUSABLE", `cuda_ipc can't be used: ${probe.reason}`, { hint: probe.hint });
  } catch (error) {
    if (wanted === undefined) return undefined;
    throw error;
  }
}

interface BenchTransport {
  readonly name: string;
  readonly tesseract: Tesseract;
  /** Moves an array to where the transport takes it from. */
  readonly place?: (array: HostArray) => Promise<object>;
}

async function transportsOf(
  tesseract: Tesseract,
  wanted: string | undefined,
  device: Transport | undefined,
  kind: TargetKind,
): Promise<readonly BenchTransport[]> {
  // The files of a server that is somewhere can't be known to be here.
  const usual = kind === "url" ? ["json+base64", "json"] : ["json+base64", "json+binref", "json"];
  const names = wanted?.split(",") ?? usual;
  const found: BenchTransport[] = [];
  for (const name of names) {
    if (name === "cuda_ipc") continue;
    try {
      found.push({ name, tesseract: tesseract.withEncoding({ outputFormat: name, gpuTransport: "none" }) });
    } catch (error) {
      if (wanted !== undefined || !(error instanceof TesseractError)) throw error;
    }
  }
  if (device?.carries === "device" && (wanted !== undefined || (await isUsable(tesseract, device.name)))) {
    const view = tesseract.withEncoding({ gpuTransport: device.name });
    await view.resolveGpuTransport();
    const { toDevice } = device;
    if (toDevice !== undefined)
      found.push({ name: device.name, tesseract: view, place: (array) => toDevice.call(device, array) });
  }
  return found;
}

const isUsable = async (tesseract: Tesseract, name: string): Promise<boolean> =>
  (await tesseract.explainGpuTransport()).checks.some((check) => check.transport === name && check.outcome === "ok");

async function rowOf(
  { name, tesseract, place }: BenchTransport,
  inputs: Tree,
  given: Given,
  signal: AbortSignal,
): Promise<Row> {
  const placed: object[] = [];
  const request = place === undefined ? inputs : ((await moved(inputs, place, placed)) as Tree);
  try {
    const results = await tesseract.apply(request);
    const bytes = bytesIn(inputs) + bytesIn(results);
    disposeOf(results);
    const measured = await measure(async () => disposeOf(await tesseract.apply(request)), {
      milliseconds: 1000 * (given.seconds ?? 0.5),
      connections: given.connections ?? 4,
      signal,
    });
    return { transport: name, bytes, ...measured };
  } finally {
    disposeOf(placed);
  }
}

async function moved(tree: unknown, place: (array: HostArray) => Promise<object>, placed: object[]): Promise<unknown> {
  if (isHostArray(tree)) {
    const array = await place(tree);
    placed.push(array);
    return array;
  }
  if (typeof tree !== "object" || tree === null) return tree;
  if (Array.isArray(tree)) return Promise.all(tree.map((item) => moved(item, place, placed)));
  const members = Object.entries(tree).map(
    async ([name, member]): Promise<[string, unknown]> => [name, await moved(member, place, placed)],
  );
  return Object.fromEntries(await Promise.all(members));
}

/** GPU arrays are given back at once rather than when they are forgotten. */
function disposeOf(tree: unknown): void {
  if (typeof tree !== "object" || tree === null || isHostArray(tree)) return;
  if (Symbol.dispose in tree && typeof tree[Symbol.dispose] === "function") (tree as Disposable)[Symbol.dispose]();
  else for (const member of Object.values(tree)) disposeOf(member);
}

function bytesIn(tree: unknown): number {
  const onHost = arraysOf(tree).reduce((sum, { array }) => sum + bytesOf(array).byteLength, 0);
  return onHost + bytesOnDevice(tree);
}

function bytesOnDevice(tree: unknown): number {
  if (typeof tree !== "object" || tree === null || isHostArray(tree)) return 0;
  if ("cudaArrayInterface" in tree)
    return "byteLength" in tree && typeof tree.byteLength === "number" ? tree.byteLength : 0;
  return Object.values(tree).reduce((sum: number, member) => sum + bytesOnDevice(member), 0);
}
