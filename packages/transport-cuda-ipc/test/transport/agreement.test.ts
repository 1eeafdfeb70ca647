import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { CudaDevice } from "../../src/driver/device.js";
import type { DevicePointer } from "../../src/driver/handles.js";
import { Slab } from "../../src/memory/slab.js";
import { Agreement } from "../../src/transport/agreement.js";
import { Mappings } from "../../src/transport/mappings.js";

const device = {} as CudaDevice;

function exportedSlab(seed: number): Slab {
  const slab = new Slab(device, BigInt(seed * 2 ** 21) as DevicePointer, 2 ** 21, 2 ** 21);
  slab.handle = new Uint8Array(64).fill(seed);
  return slab;
}

const ours = { "tesseract-peer": "someone" };
const heard = (agreement: Agreement, headers: Record<string, string>): Promise<void> =>
  agreement.receive((name) => headers[name]);

/** Mappings that record what is closed. */
class Recorded extends Mappings {
  readonly ended: string[] = [];
  constructor() {
    super({ count: 9, bytes: 2 ** 40 });
  }
  override async end(names: Iterable<string>): Promise<void> {
    this.ended.push(...names);
  }
  override async endAll(): Promise<void> {
    this.ended.push("all");
  }
}

describe("an exporter", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("names the memory that will last, and is then its guarantor", () => {
    const agreement = new Agreement(new Recorded());
    const [a, b] = [exportedSlab(1), exportedSlab(2)];
    const { "tesseract-lasting": names } = agreement.announce(new Set([a, b]));
    expect(names).toBe(`${a.export?.name},${b.export?.name}`);
    expect([...a.holders]).toEqual([agreement]);
    expect(agreement.announce(new Set())).toEqual({});
  });

  test("promises nothing any more to a peer of another kind, which maps memory for one message only", async () => {
    const agreement = new Agreement(new Recorded());
    const slab = exportedSlab(1);
    agreement.announce(new Set([slab]));
    await heard(agreement, {});
    expect(slab.holders.size).toBe(0);
    expect(agreement.announce(new Set([slab]))).toEqual({});
    await agreement.retire(slab);
  });

  test("asks for memory back until the peer has let go of it", async () => {
    const agreement = new Agreement(new Recorded());
    const [a, b] = [exportedSlab(1), exportedSlab(2)];
    agreement.announce(new Set([a, b]));
    await heard(agreement, ours);
    let retired = false;
    const end = agreement.retire(a).then(() => {
      retired = true;
    });
    const name = a.export?.name ?? "";
    expect(agreement.headers()).toEqual({ "tesseract-retire": name });
    await heard(agreement, ours);
    expect(agreement.headers()).toEqual({ "tesseract-retire": name });
    expect(retired).toBe(false);
    await heard(agreement, { ...ours, "tesseract-retired": name });
    await end;
    expect(agreement.headers()).toEqual({});
    expect([a.holders.size, b.holders.size]).toEqual([0, 1]);
  });

  test("waits no longer for a peer that is silent for five minutes", async () => {
    const agreement = new Agreement(new Recorded());
    const slab = exportedSlab(1);
    agreement.announce(new Set([slab]));
    await heard(agreement, ours);
    let retired = false;
    const end = agreement.retire(slab).then(() => {
      retired = true;
    });
    await vi.advanceTimersByTimeAsync(200_000);
    await heard(agreement, ours);
    await vi.advanceTimersByTimeAsync(280_000);
    expect(retired).toBe(false);
    await vi.advanceTimersByTimeAsync(40_000);
    await end;
    expect(slab.holders.size).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("names no more than a header can hold", () => {
    const agreement = new Agreement(new Recorded());
    const slabs = Array.from({ length: 300 }, (_, index) => {
      const slab = exportedSlab(index % 250);
      slab.handle = new Uint8Array(64).map((_, at) => (at === 0 ? index % 256 : Math.floor(index / 256)));
      return slab;
    });
    const { "tesseract-lasting": names } = agreement.announce(new Set(slabs));
    expect(names?.split(",")).toHaveLength(256);
    expect(slabs.filter(({ holders }) => holders.size > 0)).toHaveLength(256);
  });
});

describe("an importer", () => {
  test("lets go of what is asked for, and says so once", async () => {
    const mappings = new Recorded();
    const agreement = new Agreement(mappings);
    const names = ["0123456789abcdef", "fedcba9876543210"];
    await heard(agreement, { ...ours, "tesseract-retire": names.join(", ") });
    expect(mappings.ended).toEqual(names);
    expect(agreement.headers()).toEqual({ "tesseract-retired": names.join(",") });
    expect(agreement.headers()).toEqual({});
  });

  test("passes over names that aren't", async () => {
    const mappings = new Recorded();
    const agreement = new Agreement(mappings);
    await heard(agreement, { ...ours, "tesseract-retire": "x, ../y,,0123456789abcdeF", "tesseract-retired": "\u0000" });
    expect(mappings.ended).toEqual([]);
    expect(agreement.headers()).toEqual({});
  });

  test("lets go of all when the peer takes leave", async () => {
    const mappings = new Recorded();
    const agreement = new Agreement(mappings);
    await heard(agreement, { ...ours, "tesseract-retire": "*" });
    expect(mappings.ended).toEqual(["all"]);
    expect(agreement.headers()).toEqual({ "tesseract-retired": "*" });
  });
});

describe("whoever leaves", () => {
  test("has let go of the peer's memory, and asks for its own", async () => {
    const mappings = new Recorded();
    const agreement = new Agreement(mappings);
    const slab = exportedSlab(1);
    agreement.announce(new Set([slab]));
    await heard(agreement, ours);
    await agreement.takeLeave();
    expect(mappings.ended).toEqual(["all"]);
    expect(agreement.headers()).toEqual({ "tesseract-retire": "*", "tesseract-retired": "*" });
    await heard(agreement, { ...ours, "tesseract-retired": "*" });
    expect(slab.holders.size).toBe(0);
  });

  test("has nothing to say where nothing was agreed on", async () => {
    const agreement = new Agreement(new Recorded());
    await heard(agreement, {});
    await agreement.takeLeave();
    expect(agreement.headers()).toEqual({});
  });
});
