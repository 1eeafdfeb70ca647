import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { CudaArray } from "../../src/arrays/cuda-array.js";
import { TesseractError, type TesseractWarning } from "../../src/errors.js";
import { type FromUrlOptions, fromUrl } from "../../src/from-url.js";
import type { Tesseract } from "../../src/tesseract.js";
import type { Headers } from "../../src/transport.js";
import { numberedDevice, numberedHost } from "../message/transports.js";
import { failureOf, tesseractError } from "../support.js";
import { json, openapi, type ReceivedRequest, serve, serveTesseract, type TestServer } from "./servers.js";

const onDevice: CudaArray = { cudaArrayInterface: { shape: [2], typestr: "<f4", data: [4096n, false], version: 3 } };

type Device = ReturnType<typeof numberedDevice>;

interface Parts {
  readonly tess: Tesseract;
  readonly device: Device;
  readonly server: TestServer;
  readonly requests: readonly ReceivedRequest[];
  readonly warnings: readonly TesseractWarning[];
}

type Handle = (request: ReceivedRequest, response: ServerResponse, device: Device) => unknown;

/** A server that offers the transport of numbers, and a client that has it. */
async function withGpu(
  handle: Handle,
  work: (parts: Parts) => Promise<void>,
  more: Partial<FromUrlOptions> = {},
  offered: readonly string[] | undefined = ["none", "numbered_gpu"],
): Promise<void> {
  const requests: ReceivedRequest[] = [];
  const warnings: TesseractWarning[] = [];
  const device = (more.transports?.[0] as Device | undefined) ?? numberedDevice();
  const schema = openapi({
    "x-supported-output-formats": ["json+numbered"],
    "x-supported-gpu-transports": offered,
  });
  await using server = await serve((request, response) => {
    if (request.url === "/openapi.json") return json(response, schema);
    requests.push(request);
    if (request.url === "/health") return json(response, { status: "ok" });
    handle(request, response, device);
  });
  await using tess = await fromUrl(server.origin, {
    transports: [device, numberedHost()],
    onWarning: (warning) => warnings.push(warning),
    ...more,
  });
  await work({ tess, device, server, requests, warnings });
}

/** Answers the check as a server does that can read and export. */
async function passCheck(request: ReceivedRequest, response: ServerResponse, device: Device): Promise<void> {
  const { array, expected } = JSON.parse(String(request.body));
  const bytes = await device.decodeCheck({ ...array, path: "array" }, {});
  if (Buffer.from(bytes).toString("base64") !== expected) throw new Error("The check has other bytes than it says");
  const answer = await device.encodeCheck(bytes.slice().reverse(), {});
  response.setHeader("Tesseract-Exports", "check-1");
  json(response, { ok: true, array: answer.arrays[0] });
}

function jsonError(response: ServerResponse, status: number, detail: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ detail }));
}

const failCheck: Handle = (_, response) => json(response, { ok: false, reason: "no such GPU here" });
const refuse: Handle = () => {
  throw new Error("The server isn't asked");
};

describe("resolveGpuTransport", () => {
  test("gives what works, having asked once", () =>
    withGpu(passCheck, async ({ tess, requests, warnings }) => {
      expect(await Promise.all([tess.resolveGpuTransport(), tess.resolveGpuTransport()])).toEqual([
        "numbered_gpu",
        "numbered_gpu",
      ]);
      expect(await tess.withEncoding({ gpuTransport: "numbered_gpu" }).resolveGpuTransport()).toBe("numbered_gpu");
      expect(requests.map(({ url }) => url)).toEqual(["/check_gpu_transport"]);
      expect(requests[0]?.headers).toMatchObject({
        accept: "application/json+numbered; gpu_transport=numbered_gpu",
        "tesseract-exports-done": "",
      });
      expect(warnings).toEqual([]);
    }));

  test("acknowledges the check's array with the next request, and releases its own", () =>
    withGpu(passCheck, async ({ tess, device, requests }) => {
      await tess.resolveGpuTransport();
      await tess.health();
      expect(requests[1]?.headers["tesseract-exports-done"]).toBe("check-1");
      await tess.health();
      expect(requests[2]?.headers).not.toHaveProperty("tesseract-exports-done");
      expect(device.leases[0]?.released).toBe(1);
    }));

  test("gives none where none is asked for, without asking", () =>
    withGpu(refuse, async ({ tess, requests }) => {
      expect(await tess.withEncoding({ gpuTransport: "none" }).resolveGpuTransport()).toBe("none");
      expect(requests).toEqual([]);
    }));

  test("gives none where the server offers none, without asking or warning", () =>
    withGpu(
      refuse,
      async ({ tess, requests, warnings }) => {
        expect(await tess.resolveGpuTransport()).toBe("none");
        expect([requests, warnings]).toEqual([[], []]);
      },
      {},
      ["none"],
    ));

  test("warns once where what is offered doesn't work, and keeps that", () =>
    withGpu(failCheck, async ({ tess, requests, warnings }) => {
      for (let i = 0; i < 3; i++) expect(await tess.resolveGpuTransport()).toBe("none");
      expect(requests).toHaveLength(1);
      expect(warnings).toMatchObject([
        { code: "GPU_TRANSPORT_UNUSABLE", message: expect.stringContaining("no such GPU here") },
      ]);
    }));

  test("warns on the console where nobody listens", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    try {
      await withGpu(
        failCheck,
        async ({ tess }) => {
          await tess.resolveGpuTransport();
          await tess.resolveGpuTransport();
          expect(warn).toHaveBeenCalledTimes(1);
        },
        { onWarning: undefined as never },
      );
    } finally {
      warn.mockRestore();
    }
  });

  test("throws where what was asked for at creation doesn't work", () =>
    withGpu(
      failCheck,
      async ({ tess, warnings }) => {
        const error = await failureOf(() => tess.resolveGpuTransport());
        expect(error).toEqual(tesseractError("TRANSPORT_UNUSABLE", "numbered_gpu", "no such GPU here"));
        expect(error.hint).toContain('"none"');
        expect(warnings).toEqual([]);
      },
      { gpuTransport: "numbered_gpu" },
    ));

  test("throws at creation where what is asked for isn't offered, or has no transport", async () => {
    const asked = { gpuTransport: "other" };
    const error = await failureOf(() => withGpu(refuse, async () => {}, asked));
    expect(error).toEqual(tesseractError("ENCODING_UNAVAILABLE", "other"));
    expect(error.hint).toContain("numbered_gpu");
    const missing = await failureOf(() => withGpu(refuse, async () => {}, asked, ["none", "other"]));
    expect(missing).toEqual(tesseractError("TRANSPORT_MISSING", "other"));
  });

  test("raises the server's error, and asks again the next time", async () => {
    let failures = 2;
    await withGpu(
      (request, response, device) => {
        if (failures-- > 0) return jsonError(response, 503, "starting up");
        return passCheck(request, response, device);
      },
      async ({ tess, requests, warnings, device }) => {
        const both = await Promise.allSettled([tess.resolveGpuTransport(), tess.resolveGpuTransport()]);
        expect(both.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
        expect(await failureOf(() => tess.resolveGpuTransport())).toEqual(
          tesseractError("SERVER_ERROR", "starting up"),
        );
        expect(await tess.resolveGpuTransport()).toBe("numbered_gpu");
        expect(requests).toHaveLength(3);
        expect(warnings).toEqual([]);
        expect(device.leases.map(({ released }) => released)).toEqual([1, 1, 1, 0]);
      },
    );
  });

  test("asks nothing where this process can't use or can't export by the transport", async () => {
    const unusable = numberedDevice();
    unusable.probe = async () => ({ ok: false, reason: "no driver", hint: "Install one." }) as never;
    await withGpu(
      refuse,
      async ({ tess, warnings }) => {
        expect(await tess.resolveGpuTransport()).toBe("none");
        expect(warnings).toMatchObject([{ message: expect.stringContaining("no driver"), hint: "Install one." }]);
      },
      { transports: [unusable, numberedHost()] },
    );
    const mute = numberedDevice();
    mute.encodeCheck = async () => {
      throw new TesseractError("CUDA_ERROR", "no memory");
    };
    await withGpu(
      refuse,
      async ({ tess }) => {
        const error = await failureOf(() => tess.resolveGpuTransport());
        expect(error).toEqual(tesseractError("TRANSPORT_UNUSABLE", "could not export", "no memory"));
      },
      { transports: [mute, numberedHost()], gpuTransport: "numbered_gpu" },
    );
  });

  test("finds out that the server's array is another, or can't be read", async () => {
    // The client's own array as it came, and one that isn't there.
    for (const buffer of [0, 9]) {
      await withGpu(
        (request, response) => {
          const { array } = JSON.parse(String(request.body));
          json(response, { ok: true, array: { ...array, data: { encoding: "numbered_gpu", buffer } } });
        },
        async ({ tess, warnings }) => {
          expect(await tess.resolveGpuTransport()).toBe("none");
          expect(warnings).toMatchObject([{ message: expect.stringContaining("other bytes") }]);
        },
      );
    }
  });

  test("raises an answer that is none", () =>
    withGpu(
      (_, response) => json(response, { fine: true }),
      async ({ tess }) => {
        expect(await failureOf(() => tess.resolveGpuTransport())).toEqual(tesseractError("MALFORMED_RESPONSE"));
      },
    ));

  test("lets one caller stop waiting without ending the check for the others", async () => {
    let arrived: (answer: () => void) => void;
    const asked = new Promise<() => void>((resolve) => {
      arrived = resolve;
    });
    await withGpu(
      (request, response, device) => arrived(() => void passCheck(request, response, device)),
      async ({ tess, requests }) => {
        const impatient = tess.resolveGpuTransport({ timeout: 20 });
        const patient = tess.resolveGpuTransport();
        expect(await failureOf(() => impatient)).toEqual(tesseractError("TIMEOUT"));
        const answer = await asked;
        answer();
        expect(await patient).toBe("numbered_gpu");
        expect(requests).toHaveLength(1);
      },
    );
  });
});

describe("explainGpuTransport", () => {
  test("says what works", () =>
    withGpu(passCheck, async ({ tess }) => {
      expect(await tess.explainGpuTransport()).toEqual({
        requested: undefined,
        offered: ["none", "numbered_gpu"],
        resolved: "numbered_gpu",
        checks: [{ transport: "numbered_gpu", outcome: "ok" }],
      });
    }));

  test("says what doesn't, without a warning or an error", async () => {
    await withGpu(failCheck, async ({ tess, warnings }) => {
      expect(await tess.withEncoding({ gpuTransport: "numbered_gpu" }).explainGpuTransport()).toEqual({
        requested: "numbered_gpu",
        offered: ["none", "numbered_gpu"],
        resolved: undefined,
        checks: [{ transport: "numbered_gpu", outcome: "failed", reason: "no such GPU here" }],
      });
      expect(warnings).toEqual([]);
    });
    await withGpu(
      refuse,
      async ({ tess }) => {
        expect(await tess.explainGpuTransport()).toMatchObject({
          resolved: "none",
          checks: [{ transport: "numbered_gpu", outcome: "not_offered", hint: expect.stringContaining("Serve") }],
        });
      },
      {},
      ["none"],
    );
    await withGpu(
      (_, response) => jsonError(response, 500, "broken"),
      async ({ tess }) => {
        const { checks } = await tess.explainGpuTransport();
        expect(checks).toMatchObject([{ outcome: "failed", reason: expect.stringContaining("broken") }]);
      },
    );
  });
});

/** Answers with one exported array, whose name counts up. */
function exporting(): Handle {
  let count = 0;
  return async (_, response, device) => {
    const { arrays } = await device.encode([onDevice], { compression: "none" });
    response.setHeader("Tesseract-Exports", `export-${++count}`);
    json(response, { y: arrays[0] });
  };
}

const asksForGpu = { gpuTransport: "numbered_gpu" };

describe("exports of the server", () => {
  test("are acknowledged once, after they were read, with any later request", () =>
    withGpu(
      exporting(),
      async ({ tess, requests }) => {
        expect(await tess.apply({ x: onDevice })).toEqual({ y: onDevice });
        await tess.apply({ x: onDevice });
        await tess.health();
        expect(requests.map(({ headers }) => headers["tesseract-exports-done"])).toEqual(["", "export-1", "export-2"]);
      },
      asksForGpu,
    ));

  test("are acknowledged when the Tesseract is closed", async () => {
    let seen: readonly ReceivedRequest[] = [];
    await withGpu(
      exporting(),
      async ({ tess, requests }) => {
        await tess.apply({ x: onDevice });
        await tess.close();
        seen = requests;
      },
      asksForGpu,
    );
    expect(seen.map(({ url, headers }) => [url, headers["tesseract-exports-done"]])).toEqual([
      ["/apply", ""],
      ["/health", "export-1"],
    ]);
  });

  test("are acknowledged when their answer can't be read", async () => {
    const broken = numberedDevice();
    broken.decode = async () => {
      throw new TesseractError("CUDA_ERROR", "can't be opened");
    };
    await withGpu(
      exporting(),
      async ({ tess, requests }) => {
        expect(await failureOf(() => tess.apply({}))).toEqual(tesseractError("CUDA_ERROR"));
        await tess.health();
        expect(requests[1]?.headers["tesseract-exports-done"]).toBe("export-1");
      },
      { ...asksForGpu, transports: [broken, numberedHost()] },
    );
  });

  test("are acknowledged again when the request that named them didn't arrive", async () => {
    let fail = false;
    const answer = exporting();
    await withGpu(
      (request, response, device) => {
        if (fail) response.socket?.destroy();
        else answer(request, response, device);
      },
      async ({ tess, requests }) => {
        await tess.apply({ x: onDevice });
        fail = true;
        expect((await failureOf(() => tess.apply({ x: onDevice }))).code).toBe("CONNECTION_LOST");
        fail = false;
        await tess.apply({ x: onDevice });
        expect(requests.map(({ headers }) => headers["tesseract-exports-done"])).toEqual(["", "export-1", "export-1"]);
      },
      asksForGpu,
    );
  });

  test("aren't acknowledged before their answer has been decoded", async () => {
    let decoded: () => void = () => {};
    const slow = numberedDevice();
    const { decode } = slow;
    slow.decode = async (encoded, context) => {
      await new Promise<void>((resolve) => {
        decoded = resolve;
      });
      return decode(encoded, context);
    };
    await withGpu(
      exporting(),
      async ({ tess, requests }) => {
        const first = tess.apply({});
        await vi.waitFor(() => expect(requests).toHaveLength(1));
        await sleep(20);
        await tess.health();
        decoded();
        await first;
        await tess.health();
        expect(requests.map(({ headers }) => headers["tesseract-exports-done"])).toEqual(["", undefined, "export-1"]);
      },
      { ...asksForGpu, transports: [slow, numberedHost()] },
    );
  });

  test("with names that a header can't carry are left to the server's time limit", () =>
    withGpu(
      async (_, response) => {
        response.setHeader("Tesseract-Exports", "fine, two words ,, \u00e9");
        json(response, {});
      },
      async ({ tess, requests }) => {
        await tess.apply({});
        await tess.health();
        expect(requests[1]?.headers["tesseract-exports-done"]).toBe("fine");
      },
      asksForGpu,
    ));
});

describe("exports of a call that was given up", () => {
  /** Never answers the first request. */
  const stalled: Handle = (request, response) => {
    if (JSON.parse(String(request.body)).inputs.stall) return;
    json(response, {});
  };

  /** What becomes of a call that is never answered, and ended once the server has it. */
  async function givenUp(tess: Tesseract, requests: readonly ReceivedRequest[]): Promise<TesseractError> {
    const ending = new AbortController();
    const before = requests.length;
    const failure = failureOf(() => tess.apply({ x: onDevice, stall: true }, { signal: ending.signal }));
    await vi.waitFor(() => expect(requests.length).toBeGreaterThan(before), { timeout: 30_000 });
    ending.abort();
    return failure;
  }

  test("stay until a server that runs one call at a time has answered later requests", () =>
    withGpu(
      stalled,
      async ({ tess, device, requests }) => {
        expect((await givenUp(tess, requests)).code).toBe("ABORTED");
        await sleep(20);
        const [lease] = device.leases;
        const needed: number[] = [];
        for (let count = 1; count <= 4; count++) {
          await tess.health();
          needed.push(lease?.released ?? Number.NaN);
        }
        // One answer may have overtaken it; the body of a few bytes needs one round more.
        expect(needed).toEqual([0, 0, 1, 1]);
      },
      asksForGpu,
    ));

  test("aren't released by answers to requests that had begun before", async () => {
    let release: () => void = () => {};
    await withGpu(
      (request, response) => {
        const { inputs } = JSON.parse(String(request.body));
        if (inputs.stall) return;
        if (inputs.wait) release = () => json(response, {});
        else json(response, {});
      },
      async ({ tess, device, requests }) => {
        const waiting = [1, 2, 3].map(() => tess.apply({ wait: true }));
        await vi.waitFor(() => expect(requests).toHaveLength(3), { timeout: 30_000 });
        await givenUp(tess, requests);
        release();
        await Promise.race(waiting);
        expect(device.leases.map(({ released }) => released)).toEqual([0]);
        waiting.map((call) => call.catch(() => {}));
      },
      asksForGpu,
    );
  });

  test("are released when a server of this project says that it doesn't read them", async () => {
    let ended = "";
    await withGpu(
      (request, response) => {
        if (JSON.parse(String(request.body)).inputs.stall) return;
        response.setHeader("Tesseract-Peer", "someone");
        if (ended !== "") response.setHeader("Tesseract-Ended", ended);
        json(response, {});
      },
      async ({ tess, device, requests }) => {
        await givenUp(tess, requests);
        const id = String(requests[0]?.headers["tesseract-call"]);
        expect(id).toMatch(/^[0-9a-f]{32}$/);
        for (let count = 0; count < 5; count++) await tess.apply({});
        expect(requests[1]?.headers["tesseract-given-up"]).toBe(id);
        expect(device.leases[0]?.released).toBe(0);
        ended = id;
        await tess.apply({});
        expect(device.leases[0]?.released).toBe(1);
        await tess.apply({});
        expect(requests.at(-1)?.headers).not.toHaveProperty("tesseract-given-up");
      },
      asksForGpu,
    );
  });

  test("are released at once where nothing was sent, or nobody was there", () =>
    withGpu(
      stalled,
      async ({ tess, device, server }) => {
        await server.close();
        const error = await failureOf(() => tess.apply({ x: onDevice }));
        expect(error.code).toBe("CONNECTION_FAILED");
        expect(device.leases).toMatchObject([{ released: 1 }]);
      },
      asksForGpu,
    ));
});

describe("a transport with a session", () => {
  test("speaks with the peer in headers, takes leave, and is closed once", async () => {
    const log: string[] = [];
    const device = numberedDevice();
    let leaving = false;
    const connected = {
      ...device,
      connect: ({ name }: { name: string }) => {
        log.push(`connect ${name.replace(/:\d+$/, "")}`);
        return {
          ...device,
          headers: (): Record<string, string> => ({ "x-session": leaving ? "bye" : "hello" }),
          receive: async (headers: Headers) => void log.push(`heard ${headers("x-answer")}`),
          takeLeave: async () => {
            leaving = true;
          },
          close: async () => void log.push("close"),
        };
      },
    };
    let seen: readonly ReceivedRequest[] = [];
    await withGpu(
      (_, response) => {
        response.setHeader("X-Answer", "42");
        json(response, {});
      },
      async ({ tess, requests }) => {
        await tess.apply({ x: onDevice });
        await Promise.all([tess.close(), tess.close()]);
        seen = requests;
      },
      { ...asksForGpu, transports: [connected as never, numberedHost()] },
    );
    expect(seen.map(({ url, headers }) => [url, headers["x-session"]])).toEqual([
      ["/apply", "hello"],
      ["/health", "bye"],
    ]);
    expect(log).toEqual(["connect the server at http://127.0.0.1", "heard 42", "heard undefined", "close"]);
  });

  test("is closed where no connection came about", async () => {
    let closed = 0;
    const device = numberedDevice();
    const connect = () => ({ ...device, close: async () => void closed++ });
    await using server = await serveTesseract(() => {}, openapi({ "x-supported-output-formats": ["json+other"] }));
    const transports = [{ ...device, connect } as never, numberedHost()];
    await failureOf(() => fromUrl(server.origin, { transports }));
    expect(closed).toBe(1);
  });
});
