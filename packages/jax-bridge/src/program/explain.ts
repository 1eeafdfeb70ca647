/** How a program's arrays travel, as data. */

import { avalText } from "../arrays/aval.js";
import type { Device } from "../tesseract/options.js";
import type { Graph, Value } from "./ir.js";
import { Names } from "./names.js";
import { describe } from "./print.js";

/** One value that has to be copied between the device and the host. */
export interface HostCopy {
  readonly value: string;
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly direction: "to host" | "to device";
  readonly reason: string;
}

export interface ProgramExplanation {
  readonly device: Device;
  readonly stages: readonly string[];
  readonly calls: readonly string[];
  /** What is copied when all Tesseracts have a GPU transport that works. Each value is copied once. */
  readonly hostCopies: readonly HostCopy[];
}

export function explainGraph(graph: Graph, device: Device): ProgramExplanation {
  const names = new Names(graph);
  const stages = graph.nodes.filter(({ kind }) => kind === "stage").map(describe);
  const calls = graph.nodes.filter(({ kind }) => kind === "call").map(describe);
  const copies = new Map<string, HostCopy>();
  const copy = (value: Value, direction: HostCopy["direction"], reason: string): void => {
    const key = `${direction} ${names.of(value)}`;
    if (copies.has(key)) return;
    copies.set(key, {
      value: [names.of(value), value.hint].filter(Boolean).join(" "),
      shape: value.aval.shape,
      dtype: value.aval.dtype,
      direction,
      reason,
    });
  };
  if (device === "cuda") {
    // What jax-js made and constants are in the host's memory, the rest on the device.
    const onHost = new Set<Value>(
      [...graph.captured].flatMap(([value, { cuda }]) => (cuda === undefined ? [value] : [])),
    );
    for (const node of graph.nodes) {
      if (node.kind === "call") {
        const reason = `${describe(node).replace(/^call /, "")} takes it on the device`;
        for (const input of node.inputs) if (onHost.has(input)) copy(input, "to device", reason);
      }
      if (node.kind === "stage") {
        const reason = `jax-js has no CUDA device, and computes with it in the ${describe(node)}`;
        for (const input of node.inputs) if (!onHost.has(input)) copy(input, "to host", reason);
        for (const output of node.outputs) onHost.add(output);
      } else if (node.kind === "call" && node.operation.loops.length > 0) {
        const reason = `the results of ${describe(node)} are put together in the host's memory`;
        for (const output of node.outputs) {
          copy(output, "to host", reason);
          onHost.add(output);
        }
      } else if (node.kind === "sow") {
        node.outputs.forEach((output, index) => {
          const input = node.inputs[index];
          if (input !== undefined && onHost.has(input)) onHost.add(output);
        });
      }
    }
    for (const output of graph.outputs) {
      if (onHost.has(output)) copy(output, "to device", "outputs are on the device, wherever they were made");
    }
  }
  return { device, stages, calls, hostCopies: [...copies.values()] };
}

export const explanationText = ({ device, hostCopies }: ProgramExplanation): string =>
  hostCopies.length === 0
    ? `Nothing is copied between the host and a device (${device}).`
    : hostCopies
        .map(({ value, shape, dtype, direction, reason }) => {
          const text = avalText({ shape, dtype: dtype as "float64", weakType: false });
          return `${value} (${text}) is copied ${direction} once: ${reason}.`;
        })
        .join("\n");
