/**
 * What two processes of this project have agreed on, in headers that others ignore: the exporter names allocations that
 * it won't free before the other side has let go of them, so that mappings of them can stay open.
 */
import type { Headers } from "@tesseract-ts/core";
import type { Holder, Slab } from "../memory/slab.js";
import { IDLE_MS, type Mappings } from "./mappings.js";

/** Says which side speaks; only this project's servers answer with one. */
const PEER_HEADER = "tesseract-peer";
/** Allocations that the message names and that the sender keeps. */
export const LASTING_HEADER = "tesseract-lasting";
/** Allocations of the sender that the receiver shall let go of; `*` are all. */
const RETIRE_HEADER = "tesseract-retire";
/** Allocations of the receiver that the sender has let go of; `*` are all. */
const RETIRED_HEADER = "tesseract-retired";

/** More aren't named in one header: servers take 16 KiB of headers and more. */
const MOST_NAMES = 256;
/**
 * A peer that has been silent for so long is gone, or has closed its mappings as it promised (after {@link IDLE_MS}
 * without a use).
 */
const SILENCE_MS = 5 * IDLE_MS;

/** Mutual promises with one peer. */
export class Agreement implements Holder {
  /** Undefined until the peer has spoken. */
  private isOurs: boolean | undefined;
  /** By name, this process's memory that the peer may have mapped. */
  private readonly held = new Map<string, Slab>();
  private readonly retiring = new Map<string, () => void>();
  /** The peer's memory that it has been let go of and not yet been told so. */
  private readonly letGo = new Set<string>();
  private leaving = false;
  private lastHeard = Date.now();
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(private readonly mappings: Mappings) {}

  /** Promises that this memory lasts, to a peer that may keep it mapped. */
  announce(slabs: ReadonlySet<Slab>): Readonly<Record<string, string>> {
    if (this.isOurs === false || this.leaving) return {};
    const names: string[] = [];
    for (const slab of slabs) {
      const name = slab.export?.name;
      if (name === undefined || names.length === MOST_NAMES) continue;
      names.push(name);
      this.held.set(name, slab);
      slab.holders.add(this);
    }
    return names.length === 0 ? {} : { [LASTING_HEADER]: names.join(",") };
  }

  retire({ export: exported }: Slab): Promise<void> {
    const name = exported?.name;
    if (name === undefined || !this.held.has(name)) return Promise.resolve();
    return new Promise((resolve) => {
      this.retiring.set(name, resolve);
      this.timer ??= setInterval(() => {
        if (Date.now() - this.lastHeard >= SILENCE_MS) this.dropAll();
      }, IDLE_MS / 4).unref();
    });
  }

  headers(): Readonly<Record<string, string>> {
    const headers: Record<string, string> = {};
    if (this.leaving) {
      if (this.held.size > 0) headers[RETIRE_HEADER] = "*";
      if (this.isOurs === true) headers[RETIRED_HEADER] = "*";
      return headers;
    }
    if (this.retiring.size > 0) headers[RETIRE_HEADER] = [...this.retiring.keys()].slice(0, MOST_NAMES).join(",");
    const told = [...this.letGo].slice(0, MOST_NAMES);
    // A name that is lost on the way costs no more than the peer's waiting for its time limit.
    for (const name of told) this.letGo.delete(name);
    if (told.length > 0) headers[RETIRED_HEADER] = told.join(",");
    return headers;
  }

  async receive(headers: Headers): Promise<void> {
    this.lastHeard = Date.now();
    this.isOurs ??= headers(PEER_HEADER) !== undefined;
    if (!this.isOurs) {
      // Such a peer maps memory for one message only, and has answered it.
      this.dropAll();
      return;
    }
    for (const name of namesIn(headers(RETIRED_HEADER))) {
      if (name === "*") this.dropAll();
      else this.drop(name);
    }
    const retire = namesIn(headers(RETIRE_HEADER));
    if (retire.includes("*")) {
      await this.mappings.endAll();
      this.letGo.add("*");
    } else if (retire.length > 0) {
      await this.mappings.end(retire);
      for (const name of retire) this.letGo.add(name);
    }
  }

  async takeLeave(): Promise<void> {
    await this.mappings.endAll();
    this.leaving = true;
  }

  private drop(name: string): void {
    this.held.get(name)?.holders.delete(this);
    this.held.delete(name);
    this.retiring.get(name)?.();
    this.retiring.delete(name);
    if (this.retiring.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private dropAll(): void {
    for (const name of [...this.held.keys()]) this.drop(name);
  }
}

const NAME = /^(\*|[0-9a-f]{16})$/;

/** The names in a header, which is untrusted. */
export const namesIn = (header: string | undefined): readonly string[] =>
  (header ?? "")
    .split(",")
    .map((name) => name.trim())
    .filter((name) => NAME.test(name));
