import { type CudaArray, hostArray, isHostArray, type Tesseract } from "@tesseract-ts/core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { array, defineTesseract, fromTesseractApi } from "../src/index.js";
import { floats, gpuArray, open, scale, tesseractError } from "./support.js";

const schema = z.object({ x: array("float64", [null]) });

/** Gives back what it is called with, and keeps it. */
const kept: unknown[] = [];
const keeper = defineTesseract({
  name: "keeper",
  inputs: schema,
  outputs: schema,
  gpuArrays: true,
  apply: (inputs) => {
    kept.push(inputs.x);
    return inputs;
  },
});
beforeEach(() => {
  kept.length = 0;
});
afterEach(() => vi.unstubAllEnvs());

const isCuda = (value: unknown): value is CudaArray =>
  typeof value === "object" && value !== null && "cudaArrayInterface" in value;

describe("without a GPU transport", () => {
  test("GPU arrays are copied to the host by their own copyToHost()", async () => {
    const tess = await open(fromTesseractApi(scale));
    const x = gpuArray([1, 2]);
    expect(await tess.apply({ x })).toEqual({ y: floats(2, 4) });
    expect(x.copies()).toBe(1);
  });

  test("TESSERACT_FORBID_DEVICE_HOST_COPY makes that an error", async () => {
    vi.stubEnv("TESSERACT_FORBID_DEVICE_HOST_COPY", "1");
    const tess = await open(fromTesseractApi(scale));
    const x = gpuArray([1, 2]);
    await expect(tess.apply({ x })).rejects.toEqual(tesseractError("HOST_COPY_FORBIDDEN", "inputs.x"));
    expect(x.copies()).toBe(0);
  });

  test("results may live on the GPU all the same", async () => {
    const result = gpuArray([5]);
    const tess = await open(
      fromTesseractApi(
        defineTesseract({ name: "gpu", inputs: z.object({}), outputs: schema, apply: () => ({ x: result }) }),
      ),
    );
    expect((await tess.apply({})).x).toBe(result);
  });

  test("none can be asked for", async () => {
    const tess = await open(fromTesseractApi(scale));
    expect(await tess.resolveGpuTransport()).toBe("none");
    expect(() => tess.withEncoding({ gpuTransport: "cuda_ipc" })).toThrow(
      tesseractError("ENCODING_UNAVAILABLE", 'created with gpuTransport "none"') as Error,
    );
    expect(await tess.explainGpuTransport()).toEqual({
      requested: undefined,
      offered: ["none"],
      resolved: "none",
      checks: [],
    });
  });
});

describe('with gpuTransport: "cuda_ipc"', () => {
  const onDevice = () => open(fromTesseractApi(keeper, { gpuTransport: "cuda_ipc" }));

  test("endpoints get the caller's own buffer, marked read-only, and nothing is copied", async () => {
    const x = gpuArray([1, 2]);
    let seen: unknown;
    const looking = defineTesseract({
      name: "looking",
      inputs: schema,
      outputs: z.object({}),
      gpuArrays: true,
      apply: ({ x: given }) => {
        seen = isCuda(given) ? [given.cudaArrayInterface, given.device] : undefined;
        return {};
      },
    });
    const tess = await open(fromTesseractApi(looking, { gpuTransport: "cuda_ipc" }));
    await tess.apply({ x });
    expect(seen).toEqual([{ ...x.cudaArrayInterface, data: [0x7000_0000_0000n, true] }, x.device]);
    expect(x.cudaArrayInterface.data[1]).toBe(false);
    expect(x.copies()).toBe(0);
  });

  test("a use after the call is an error, and says what to do", async () => {
    const tess = await onDevice();
    await tess.apply({ x: gpuArray([1]) });
    const [array] = kept as [CudaArray];
    expect(() => array.cudaArrayInterface).toThrow(tesseractError("DISPOSED", "after the call") as Error);
    expect(() => array.device).toThrow(tesseractError("DISPOSED") as Error);
    await expect(array.copyToHost?.()).rejects.toEqual(tesseractError("DISPOSED"));
  });

  test("is over for the endpoint when the call fails too", async () => {
    const failing = defineTesseract({
      name: "failing",
      inputs: schema,
      outputs: schema,
      gpuArrays: true,
      apply: ({ x }) => {
        kept.push(x);
        throw new Error("no");
      },
    });
    const tess = await open(fromTesseractApi(failing, { gpuTransport: "cuda_ipc" }));
    await expect(tess.apply({ x: gpuArray([1]) })).rejects.toEqual(tesseractError("ENDPOINT_FAILED"));
    expect(() => (kept[0] as CudaArray).cudaArrayInterface).toThrow(tesseractError("DISPOSED") as Error);
  });

  test("is over for the endpoint once the caller has given up, and may free the array", async () => {
    let later: unknown;
    let ended: () => void = () => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const stubborn = defineTesseract({
      name: "stubborn",
      inputs: schema,
      outputs: schema,
      gpuArrays: true,
      apply: async ({ x }) => {
        await end;
        try {
          return { x: (x as CudaArray).cudaArrayInterface.shape.length };
        } catch (error) {
          later = error;
          throw error;
        }
      },
    });
    const tess = await open(fromTesseractApi(stubborn, { gpuTransport: "cuda_ipc" }));
    await expect(tess.apply({ x: gpuArray([1]) }, { timeout: 10 })).rejects.toEqual(tesseractError("TIMEOUT"));
    ended();
    await vi.waitFor(() => expect(later).toEqual(tesseractError("DISPOSED")));
  });

  test("an input that is given back is the caller's own array again", async () => {
    const tess = await onDevice();
    const x = gpuArray([1]);
    const { x: back } = await tess.apply({ x });
    expect(back).toBe(x);
  });

  test("an explicit copy within the call is allowed, whatever the environment says", async () => {
    vi.stubEnv("TESSERACT_FORBID_DEVICE_HOST_COPY", "1");
    const copying = defineTesseract({
      name: "copying",
      inputs: schema,
      outputs: schema,
      gpuArrays: true,
      apply: async ({ x }) => ({ x: isCuda(x) ? ((await x.copyToHost?.()) ?? 0) : x }),
    });
    const tess = await open(fromTesseractApi(copying, { gpuTransport: "cuda_ipc" }));
    expect(await tess.apply({ x: gpuArray([7]) })).toEqual({ x: floats(7) });
  });

  test("host arrays come as host arrays", async () => {
    const tess = await onDevice();
    await tess.apply({ x: [1] });
    expect(isHostArray(kept[0])).toBe(true);
  });

  test("a view that asks for none goes through the host", async () => {
    const tess = await onDevice();
    const x = gpuArray([3]);
    expect(await tess.resolveGpuTransport()).toBe("cuda_ipc");
    const view: Tesseract = tess.withEncoding({ gpuTransport: "none" }) as unknown as Tesseract;
    expect(await view.resolveGpuTransport()).toBe("none");
    expect(await view.apply({ x })).toEqual({ x: floats(3) });
    expect(x.copies()).toBe(1);
  });

  test("a GPU array is neither cast nor broadcast", async () => {
    const fussy = defineTesseract({
      name: "fussy",
      inputs: z.object({ x: array("float32", [3]) }),
      outputs: z.object({}),
      gpuArrays: true,
      apply: () => ({}),
    });
    const tess = await open(fromTesseractApi(fussy, { gpuTransport: "cuda_ipc" }));
    await expect(tess.apply({ x: gpuArray([1, 2, 3]) })).rejects.toMatchObject({
      issues: [{ type: "array_dtype_mismatch", path: ["body", "inputs", "x"] }],
    });
    await expect(tess.apply({ x: gpuArray([1]) })).rejects.toMatchObject({
      issues: [{ type: "array_shape_mismatch" }],
    });
    await expect(tess.apply({ x: hostArray([1]) })).resolves.toEqual({});
  });

  test("is only for Tesseracts whose endpoints take GPU arrays", async () => {
    await expect(fromTesseractApi(scale, { gpuTransport: "cuda_ipc" })).rejects.toEqual(
      tesseractError("INVALID_ARGUMENT", "scale", "doesn't take GPU arrays"),
    );
    await expect(fromTesseractApi(keeper, { gpuTransport: "shm" as never })).rejects.toEqual(
      tesseractError("INVALID_ARGUMENT", "shm"),
    );
  });

  test("is what the OpenAPI document offers", async () => {
    expect((await onDevice()).openapiSchema["x-supported-gpu-transports"]).toEqual(["none", "cuda_ipc"]);
  });
});
