/** Runs a program: each node as soon as its inputs are there. */
import { type CudaArray, isHostArray, type RunOptions } from "@tesseract-ts/core";
import { disposeCuda, RuntimeArray } from "../arrays/runtime-array.js";
import type { JaxArray } from "../jax.js";
import type { Placement } from "../tesseract/device.js";
import type { Payload } from "../tesseract/payload.js";
import { request } from "../tesseract/request.js";
import type { CallNode, Graph, Node, StageNode, Value } from "./ir.js";

export interface RunSettings extends RunOptions {
  readonly placement: Placement;
}

export interface RunResult {
  readonly outputs: readonly RuntimeArray[];
  readonly sown: readonly (readonly RuntimeArray[])[];
}

/** An array of the run, and how many still need it. */
interface Held {
  readonly array: RuntimeArray;
  uses: number;
}

/**
 * The arguments become the run's, and the results the caller's. What the program brings along stays the program's.
 * An error ends the calls that are on their way, and everything that was made.
 */
export async function runGraph(graph: Graph, args: readonly RuntimeArray[], settings: RunSettings): Promise<RunResult> {
  const run = new Run(graph, settings);
  return run.execute(args);
}

class Run {
  private readonly pending = new Map<Value, Promise<Held>>();
  private readonly held = new Set<Held>();
  private readonly uses = new Map<Value, number>();
  /** Copies on the device of arrays that weren't made there: one of each, which is the run's until it is given away. */
  private readonly uploads = new Map<RuntimeArray, Promise<CudaArray>>();
  private readonly abort = new AbortController();
  private readonly signal: AbortSignal;

  constructor(
    private readonly graph: Graph,
    private readonly settings: RunSettings,
  ) {
    const { signal } = settings;
    this.signal = signal === undefined ? this.abort.signal : AbortSignal.any([signal, this.abort.signal]);
    const count = (values: readonly Value[]): void => {
      for (const value of values) this.uses.set(value, (this.uses.get(value) ?? 0) + 1);
    };
    for (const node of graph.nodes) count(node.inputs);
    count(graph.outputs);
    for (const { values } of graph.sown) count(values);
    // They outlive the run.
    count([...graph.captured.keys()]);
  }

  async execute(args: readonly RuntimeArray[]): Promise<RunResult> {
    const { graph } = this;
    graph.inputs.forEach((value, index) => {
      const array = args[index];
      if (array !== undefined) this.pending.set(value, this.hold(value, array));
    });
    for (const [value, array] of graph.captured) this.pending.set(value, this.hold(value, array));
    const tasks = graph.nodes.map((node) => {
      const results = this.perform(node);
      node.outputs.forEach((output, index) => {
        const result = results.then((all) => all[index] as Held);
        // It is awaited where it is needed, which may be nowhere.
        result.catch(() => undefined);
        this.pending.set(output, result);
      });
      return results;
    });
    try {
      await Promise.all(tasks);
      const taken = new Map<RuntimeArray, RuntimeArray>();
      const outputs = await this.takeAll(graph.outputs, taken);
      const sown = [];
      for (const { values } of graph.sown) sown.push(await this.takeAll(values, taken));
      await this.releaseUnused(taken);
      return { outputs, sown };
    } catch (error) {
      this.abort.abort(error);
      await Promise.allSettled(tasks);
      const captured = new Set(graph.captured.values());
      await Promise.all([...this.held].map(({ array }) => (captured.has(array) ? undefined : array.dispose())));
      await this.endUploads();
      throw error;
    }
  }

  private hold(value: Value, array: RuntimeArray): Promise<Held> {
    const held: Held = { array, uses: this.uses.get(value) ?? 0 };
    this.held.add(held);
    return Promise.resolve(held);
  }

  private async need(values: readonly Value[]): Promise<readonly Held[]> {
    return Promise.all(
      values.map((value) => this.pending.get(value) ?? Promise.reject(new Error("A value is missing"))),
    );
  }

  private async perform(node: Node): Promise<readonly Held[]> {
    const inputs = await this.need(node.inputs);
    this.signal.throwIfAborted();
    const results = await this.resultsOf(node, inputs);
    if (node.kind === "sow") {
      return Promise.all(inputs.map((held, index) => this.passOn(held, node.outputs[index])));
    }
    const made = await Promise.all(
      node.outputs.map((output, index) => this.hold(output, results[index] as RuntimeArray)),
    );
    await this.release(inputs);
    await Promise.all(made.filter(({ uses }) => uses === 0).map((held) => this.end(held)));
    return made;
  }

  /** What was sown passes on its input's array. */
  private async passOn(held: Held, output: Value | undefined): Promise<Held> {
    held.uses += (output === undefined ? 0 : (this.uses.get(output) ?? 0)) - 1;
    if (held.uses === 0) await this.end(held);
    return held;
  }

  private async resultsOf(node: Node, inputs: readonly Held[]): Promise<readonly RuntimeArray[]> {
    switch (node.kind) {
      case "sow":
        return [];
      case "stage":
        return runStage(
          node,
          inputs.map(({ array }) => array),
        );
      case "call":
        return this.runCall(
          node,
          inputs.map(({ array }) => array),
        );
    }
  }

  private async runCall(node: CallNode, inputs: readonly RuntimeArray[]): Promise<readonly RuntimeArray[]> {
    const { placement } = this.settings;
    const { tesseract, options: own } = node.operation.spec;
    const options: RunOptions = {
      signal: own.signal === undefined ? this.signal : AbortSignal.any([own.signal, this.signal]),
      timeout: own.timeout ?? this.settings.timeout,
      runId: own.runId ?? this.settings.runId,
    };
    const view = await placement.view(tesseract, options);
    const onDevice = placement.staysOnDevice(tesseract);
    const payloads = await Promise.all(
      inputs.map((input): Promise<Payload> => (onDevice ? this.onDevice(input) : input.host())),
    );
    const outputs = await request(node.operation, view, payloads, options);
    return outputs.map((output) =>
      isHostArray(output) ? RuntimeArray.ofHost(output) : RuntimeArray.ofCuda(output, true),
    );
  }

  /** As a Tesseract gets it whose arrays stay on the device. Plain numbers stay numbers: they take the dtype that is wanted. */
  private async onDevice(array: RuntimeArray): Promise<Payload> {
    const { placement } = this.settings;
    if (array.cuda !== undefined) return array.cuda;
    if (typeof array.original !== "object" || !placement.canUpload) return array.host();
    let upload = this.uploads.get(array);
    if (upload === undefined) {
      upload = array.host().then((host) => placement.toDevice(host));
      this.uploads.set(array, upload);
    }
    return upload;
  }

  /**
   * The caller's own: a value that is taken twice is given twice.
   *
   * @param taken what was given for an array
   */
  private async takeAll(
    values: readonly Value[],
    taken: Map<RuntimeArray, RuntimeArray>,
  ): Promise<readonly RuntimeArray[]> {
    const captured = new Set(this.graph.captured.values());
    const outputs: RuntimeArray[] = [];
    for (const { array } of await this.need(values)) {
      const given = taken.get(array);
      const upload = this.uploads.get(array);
      if (given !== undefined) outputs.push(await given.share());
      else if (upload !== undefined) {
        const output = RuntimeArray.ofCuda(await upload, true);
        this.uploads.delete(array);
        taken.set(array, output);
        outputs.push(output);
      } else if (captured.has(array)) outputs.push(await array.share());
      else {
        taken.set(array, array);
        outputs.push(array);
      }
    }
    return outputs;
  }

  private async releaseUnused(taken: ReadonlyMap<RuntimeArray, RuntimeArray>): Promise<void> {
    const captured = new Set(this.graph.captured.values());
    await Promise.all(
      [...this.held].map(({ array }) =>
        taken.get(array) === array || captured.has(array) ? undefined : array.dispose(),
      ),
    );
    await this.endUploads();
  }

  private async endUploads(): Promise<void> {
    await Promise.all([...this.uploads.keys()].map((array) => this.endUpload(array)));
  }

  private async endUpload(array: RuntimeArray): Promise<void> {
    const upload = await this.uploads.get(array)?.catch(() => undefined);
    this.uploads.delete(array);
    if (upload !== undefined) disposeCuda(upload);
  }

  private async release(held: readonly Held[]): Promise<void> {
    for (const each of held) {
      each.uses -= 1;
      if (each.uses === 0) await this.end(each);
    }
  }

  private async end(held: Held): Promise<void> {
    this.held.delete(held);
    await this.endUpload(held.array);
    await held.array.dispose();
  }
}

async function runStage({ stage }: StageNode, inputs: readonly RuntimeArray[]): Promise<readonly RuntimeArray[]> {
  const made = await Promise.allSettled(inputs.map((input) => input.jax()));
  const arrays = made.flatMap((each): JaxArray[] => (each.status === "fulfilled" ? [each.value] : []));
  const failed = made.find((each) => each.status === "rejected");
  if (failed !== undefined) {
    for (const array of arrays) array.dispose();
    throw failed.reason;
  }
  return stage.run(arrays).map((array) => RuntimeArray.ofJax(array));
}
