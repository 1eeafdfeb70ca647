import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type HostArray, hostArray } from "../../src/arrays/host-array.js";
import type { ErrorCode, TesseractError, TesseractWarning } from "../../src/errors.js";
import { type FromUrlOptions, fromUrl } from "../../src/from-url.js";
import type { Tesseract } from "../../src/tesseract.js";
import { CountedLease, numberedHost } from "../message/transports.js";
import { failureOf, tesseractError } from "../support.js";
import { json, openapi, type ReceivedRequest, serve, serveTesseract, type TestServer } from "./servers.js";

const array = hostArray(new Float64Array([1, 2, 3]));
const echo = ({ body }: ReceivedRequest): unknown => JSON.parse(String(body)).inputs;

/** A server whose answers are `handle`'s, and a Tesseract of it. */
async function withTesseract(
  handle: Parameters<typeof serveTesseract>[0],
  work: (parts: { tess: Tesseract; host: ReturnType<typeof numberedHost>; server: TestServer }) => Promise<void>,
  more: Partial<FromUrlOptions> = {},
  changes: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  const schema = openapi({ "x-supported-output-formats": ["json+numbered"], ...changes });
  await using server = await serveTesseract(handle, schema);
  const host = numberedHost();
  await using tess = await fromUrl(server.origin, { transports: [host], ...more });
  await work({ tess, host, server });
}

describe("a call", () => {
  test("sends its arrays and gives back those of the answer", () =>
    withTesseract(
      (request, response) => json(response, echo(request)),
      async ({ tess }) => {
        const inputs = { x: array, list: [array, 1, "s"], named: { "a.b": array }, left: undefined };
        expect(await tess.apply(inputs)).toEqual({ x: array, list: [array, 1, "s"], named: { "a.b": array } });
      },
    ));

  test("asks for the format that is used, and for no GPU", async () => {
    const accepted: (string | undefined)[] = [];
    await withTesseract(
      (request, response) => {
        accepted.push(request.headers.accept);
        json(response, {});
      },
      async ({ tess }) => {
        await tess.apply({});
        await tess.withEncoding({ compression: "lz4" }).apply({});
        await tess.withEncoding({ gpuTransport: "none" }).apply({});
      },
    );
    expect(accepted).toEqual([
      "application/json+numbered; gpu_transport=none",
      "application/json+numbered; gpu_transport=none; compression=lz4",
      "application/json+numbered; gpu_transport=none",
    ]);
  });

  test("by a transport that all runtimes have says nothing of leases, nor of its client", async () => {
    const said: string[] = [];
    const known = { ...numberedHost(), name: "base64" };
    await withTesseract(
      (request, response) => {
        said.push(...Object.keys(request.headers));
        json(response, {});
      },
      async ({ tess }) => {
        await tess.apply({ x: array });
        await tess.apply({ x: array });
      },
      { transports: [known] },
      { "x-supported-output-formats": ["json+base64"] },
    );
    expect(said).toContain("accept");
    expect(said.filter((name) => name.startsWith("tesseract"))).toEqual([]);
  });

  test("by a transport of one's own says that it acknowledges what is leased, and who calls", async () => {
    const said: ReceivedRequest["headers"][] = [];
    await withTesseract(
      (request, response) => {
        said.push(request.headers);
        json(response, echo(request), { "Tesseract-Exports": `lease-${said.length}` });
      },
      async ({ tess }) => {
        await tess.apply({ x: array });
        await tess.apply({ x: array });
      },
    );
    expect(said.map((headers) => headers["tesseract-exports-done"])).toEqual(["", "lease-1"]);
    const [peer, again] = said.map((headers) => headers["tesseract-peer"]);
    expect([peer, again]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), peer]);
    expect(new Set(said.map((headers) => headers["tesseract-call"])).size).toBe(2);
  });

  test("names its run", async () => {
    const urls: string[] = [];
    await withTesseract(
      ({ url }, response) => {
        urls.push(url);
        json(response, {});
      },
      async ({ tess }) => {
        await tess.apply({}, { runId: "a b/ü&c" });
        await tess.apply({});
      },
    );
    expect(urls).toEqual(["/apply?run_id=a%20b%2F%C3%BC%26c", "/apply"]);
  });

  test("for shapes alone sends no array", async () => {
    const bodies: unknown[] = [];
    await withTesseract(
      ({ body }, response) => {
        bodies.push(JSON.parse(String(body)));
        json(response, { y: { shape: [3], dtype: "float64" } });
      },
      async ({ tess, host }) => {
        expect(await tess.abstractEval({ x: array, n: 1 })).toEqual({ y: { shape: [3], dtype: "float64" } });
        expect(host.leases).toEqual([]);
      },
    );
    expect(bodies).toEqual([{ inputs: { x: { shape: [3], dtype: "float64" }, n: 1 } }]);
  });

  test("is refused before it is sent where the inputs can't be", async () => {
    let calls = 0;
    await withTesseract(
      (_, response) => {
        calls++;
        json(response, {});
      },
      async ({ tess }) => {
        expect(await failureOf(() => tess.apply({ x: Number.NaN }))).toEqual(
          tesseractError("INVALID_TREE", "inputs.x"),
        );
        expect(await failureOf(() => tess.apply({ f: () => 1 }))).toEqual(tesseractError("INVALID_TREE", "inputs.f"));
      },
    );
    expect(calls).toBe(0);
  });

  test("that the server refuses has its issues", () =>
    withTesseract(
      (_, response) => {
        response.writeHead(422, { "content-type": "application/json" });
        response.end('{"detail":[{"type":"missing","loc":["body","inputs","x"],"msg":"Field required"}]}');
      },
      async ({ tess }) => {
        const error = await failureOf(() => tess.apply({}));
        expect(error).toEqual(tesseractError("VALIDATION_FAILED", "body.inputs.x: Field required"));
        expect(error.issues).toMatchObject([{ path: ["body", "inputs", "x"], type: "missing" }]);
      },
    ));
});

describe("what a transport keeps for a request is given back exactly once", () => {
  const outcomes: [string, Parameters<typeof serveTesseract>[0], ErrorCode | undefined][] = [
    ["it went well", (request, response) => json(response, echo(request)), undefined],
    ["the server failed", (_, response) => void response.writeHead(500).end("no"), "SERVER_ERROR"],
    ["the server refused it", (_, response) => void response.writeHead(422).end("{}"), "VALIDATION_FAILED"],
    ["the answer isn't JSON", (_, response) => json(response, undefined), "MALFORMED_RESPONSE"],
    ["the connection was lost", ({ socket }) => void socket.destroy(), "CONNECTION_LOST"],
    [
      "the answer's arrays can't be read",
      (_, response) => json(response, { y: { object_type: "array", shape: [1], dtype: "bfloat16" } }),
      "UNSUPPORTED_DTYPE",
    ],
    [
      "the answer's arrays have an encoding that nobody carries",
      (_, response) =>
        json(response, {
          y: { object_type: "array", shape: [1], dtype: "int8", data: { encoding: "shm", buffer: "x" } },
        }),
      "TRANSPORT_MISSING",
    ],
    ["it took too long", () => {}, "TIMEOUT"],
  ];
  test.each(outcomes)("when %s", (_, handle, code) =>
    withTesseract(handle, async ({ tess, host }) => {
      const work = tess.apply({ x: array }, { timeout: code === "TIMEOUT" ? 30 : 10_000 });
      if (code === undefined) await work;
      else expect((await failureOf(() => work)).code).toBe(code);
      await vi.waitFor(() => expect(host.leases).toMatchObject([{ released: 1 }]));
      await sleep(10);
      expect(host.leases).toMatchObject([{ released: 1 }]);
    }),
  );

  test("when it was aborted, or the Tesseract closed, in the middle", async () => {
    for (const how of ["abort", "close"] as const) {
      const controller = new AbortController();
      let arrived: () => void = () => {};
      await withTesseract(
        () => arrived(),
        async ({ tess, host }) => {
          arrived = () => (how === "abort" ? controller.abort() : void tess.close());
          const error = await failureOf(() => tess.apply({ x: array }, { signal: controller.signal }));
          expect(error.code).toBe(how === "abort" ? "ABORTED" : "CLOSED");
          await vi.waitFor(() => expect(host.leases).toMatchObject([{ released: 1 }]));
        },
      );
    }
  });

  test("when it was aborted while its transport was still encoding", async () => {
    const lease = new CountedLease();
    const controller = new AbortController();
    const host = numberedHost();
    let finish: () => void = () => {};
    const encoded = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const encode: typeof host.encode = async (arrays, context) => {
      controller.abort();
      await encoded;
      return { ...(await host.encode(arrays, context)), lease };
    };
    await withTesseract(
      () => {
        throw new Error("nothing is sent");
      },
      async ({ tess }) => {
        const error = await failureOf(() => tess.apply({ x: array }, { signal: controller.signal }));
        expect(error.code).toBe("ABORTED");
        finish();
        await vi.waitFor(() => expect(lease.released).toBe(1));
      },
      { transports: [{ ...host, encode }] },
    );
  });

  test("as soon as the server has answered, while the answer's arrays are read", async () => {
    const host = numberedHost();
    const released: number[] = [];
    const decode: typeof host.decode = async (encoded, context) => {
      released.push(...host.leases.map((lease) => lease.released));
      return host.decode(encoded, context);
    };
    await withTesseract(
      (request, response) => json(response, echo(request)),
      async ({ tess }) => {
        expect(await tess.apply({ x: array })).toEqual({ x: array });
      },
      { transports: [{ ...host, decode }] },
    );
    expect(released).toEqual([1]);
  });
});

describe("a call ends early", () => {
  type Parts = Parameters<Parameters<typeof withTesseract>[1]>[0];
  /** A Tesseract that never answers, and what tells that its connections for calls have ended. */
  function stuck(work: (parts: Parts & { gone: () => Promise<void> }) => Promise<void>): Promise<void> {
    const sockets: Socket[] = [];
    const gone = () =>
      vi.waitFor(() => expect(sockets.map(({ destroyed }) => destroyed)).toEqual(sockets.map(() => true)));
    return withTesseract(
      ({ socket }) => void sockets.push(socket),
      (parts) => work({ ...parts, gone }),
    );
  }

  test("with TIMEOUT when its time is over, and the server sees it go", () =>
    stuck(async ({ tess, gone }) => {
      const start = performance.now();
      const error = await failureOf(() => tess.apply({ x: array }, { timeout: 30 }));
      expect(error).toEqual(tesseractError("TIMEOUT", '"apply"', "30 ms"));
      expect(error.hint).toContain("may still be running");
      expect(performance.now() - start).toBeLessThan(30_000);
      await gone();
    }));

  test("with TIMEOUT by the Tesseract's own, unless the call has another", () =>
    withTesseract(
      async (_, response) => {
        await sleep(2000);
        json(response, {});
      },
      async ({ tess }) => {
        expect(await failureOf(() => tess.apply({}))).toEqual(tesseractError("TIMEOUT", "1500 ms"));
        const patient = [tess.apply({}, { timeout: 60_000 }), tess.apply({}, { timeout: Number.POSITIVE_INFINITY })];
        expect(await Promise.all(patient)).toEqual([{}, {}]);
      },
      // For the connecting as well.
      { timeout: 1500 },
    ));

  test("with ABORTED when its signal is, and the server sees it go", () =>
    stuck(async ({ tess, gone }) => {
      const controller = new AbortController();
      const reason = new Error("enough");
      setTimeout(() => controller.abort(reason), 30);
      const error = await failureOf(() => tess.apply({ x: array }, { signal: controller.signal }));
      expect(error).toEqual(tesseractError("ABORTED", '"apply"'));
      expect(error.cause).toBe(reason);
      await gone();
    }));

  test("with ABORTED before anything is sent when its signal was already", () =>
    stuck(async ({ tess, host }) => {
      const error = await failureOf(() => tess.apply({ x: array }, { signal: AbortSignal.abort() }));
      expect(error).toEqual(tesseractError("ABORTED"));
      expect(host.leases).toEqual([]);
    }));

  test("with CLOSED when the Tesseract is closed, as do all others", () =>
    stuck(async ({ tess, gone }) => {
      const calls = [tess.apply({}), tess.apply({ x: array }), tess.withEncoding({ compression: "lz4" }).apply({})];
      const failures = Promise.all(calls.map((call) => failureOf(() => call)));
      await sleep(30);
      await tess.close();
      for (const error of await failures) expect(error).toEqual(tesseractError("CLOSED"));
      for (const call of [() => tess.apply({}), () => tess.health(), () => tess.abstractEval({})]) {
        expect(await failureOf(call)).toEqual(tesseractError("CLOSED"));
      }
      await gone();
      await tess.close();
    }));

  test.each([0, -5, Number.NaN])("with INVALID_ARGUMENT when its timeout is %d", (timeout) =>
    stuck(async ({ tess }) => {
      expect(await failureOf(() => tess.apply({}, { timeout }))).toEqual(tesseractError("INVALID_ARGUMENT"));
      expect(await failureOf(() => tess.health({ timeout }))).toEqual(tesseractError("INVALID_ARGUMENT"));
    }),
  );

  test("when the answer is larger than allowed", () =>
    withTesseract(
      (_, response) => json(response, { x: "x".repeat(5000) }),
      async ({ tess }) => {
        expect(await failureOf(() => tess.apply({}))).toEqual(tesseractError("RESPONSE_TOO_LARGE", "4000"));
        expect(await tess.health()).toEqual({ status: "ok" });
      },
      { maxResponseBytes: 4000 },
    ));
});

describe("many calls", () => {
  const warnings: Error[] = [];
  const note = (warning: Error): void => void warnings.push(warning);
  beforeEach(() => {
    warnings.length = 0;
    process.on("warning", note);
  });
  afterEach(() => {
    process.off("warning", note);
  });

  test("at once, with one signal, warn of nothing and leave nothing behind", () =>
    withTesseract(
      async (request, response) => {
        await sleep(5);
        json(response, echo(request));
      },
      async ({ tess, host }) => {
        const { signal } = new AbortController();
        const arrays = Array.from({ length: 60 }, (_, i) => hostArray([i]));
        const answers = await Promise.all(arrays.map((x) => tess.apply({ x }, { signal, timeout: 60_000 })));
        expect(answers.map(({ x }) => x)).toEqual(arrays);
        expect(host.leases.every(({ released }) => released === 1)).toBe(true);
        await sleep(5);
        expect(warnings).toEqual([]);
      },
    ));

  test("use as many connections as they may", async () => {
    let most = 0;
    let now = 0;
    await withTesseract(
      async (_, response) => {
        most = Math.max(most, ++now);
        await sleep(5);
        now--;
        json(response, {});
      },
      async ({ tess }) => {
        await Promise.all(Array.from({ length: 12 }, () => tess.apply({})));
        expect(most).toBe(2);
      },
      { connections: 2 },
    );
  });
});

describe("a runtime that is old", () => {
  const none = {
    "x-supported-output-formats": undefined,
    "x-supported-gpu-transports": undefined,
    "x-supported-compressions": undefined,
  };
  const base64 = (): ReturnType<typeof numberedHost> => numberedHost("base64");

  test("before 1.13 is asked for a format and nothing else", async () => {
    const accepted: (string | undefined)[] = [];
    await withTesseract(
      ({ headers }, response) => {
        accepted.push(headers.accept);
        json(response, {});
      },
      async ({ tess }) => {
        await tess.apply({});
        await tess.withEncoding({ gpuTransport: "none" }).apply({});
        for (const encoding of [
          { compression: "lz4" },
          { compression: "none" },
          { gpuTransport: "cuda_ipc" },
        ] as const) {
          expect(await failureOf(() => tess.withEncoding(encoding))).toEqual(tesseractError("RUNTIME_TOO_OLD", "1.13"));
        }
      },
      { transports: [base64()] },
      none,
    );
    expect(accepted).toEqual(["application/json+base64", "application/json+base64"]);
  });

  test("before 1.14 earns one warning for compression, which it may ignore", async () => {
    const warnings: TesseractWarning[] = [];
    const compressions: unknown[] = [];
    const host = numberedHost();
    const encode: typeof host.encode = (arrays, context) => {
      compressions.push(context.compression);
      return host.encode(arrays, context);
    };
    await withTesseract(
      (request, response) => json(response, echo(request)),
      async ({ tess, server }) => {
        await tess.withEncoding({ compression: "lz4" }).apply({ x: array });
        await tess.withEncoding({ compression: "lz4" }).apply({ x: array });
        expect(warnings).toEqual([
          { code: "COMPRESSION_NOT_ADVERTISED", message: expect.stringContaining(server.origin) },
        ]);
      },
      { transports: [{ ...host, encode }], onWarning: (warning) => void warnings.push(warning) },
      { "x-supported-gpu-transports": undefined, "x-supported-compressions": undefined },
    );
    // Nor is it known to take compressed buffers.
    expect(compressions).toEqual(["none", "none"]);
  });

  test("of 1.13 or 1.14 can't be asked for a GPU transport", () =>
    withTesseract(
      () => {},
      async ({ tess }) => {
        expect(await failureOf(() => tess.withEncoding({ gpuTransport: "cuda_ipc" }))).toEqual(
          tesseractError("RUNTIME_TOO_OLD", "ordinal"),
        );
        expect(tess.withEncoding({ gpuTransport: "none" }).currentEncoding.gpuTransport).toBe("none");
      },
      {},
      { "x-supported-gpu-transports": undefined, "x-supported-compressions": undefined },
    ));
});

test("a Tesseract ends with its block", async () => {
  await using server = await serve((_, response) =>
    json(response, openapi({ "x-supported-output-formats": ["json+numbered"] })),
  );
  let kept: Tesseract | undefined;
  {
    await using tess = await fromUrl(server.origin, { transports: [numberedHost()] });
    kept = tess;
  }
  expect(await failureOf(() => kept?.health())).toEqual(tesseractError("CLOSED"));
  await server.ended();
});

test("a result's type is as given", async () => {
  await withTesseract(
    (request, response) => json(response, echo(request)),
    async ({ tess }) => {
      const { x } = await tess.apply({ x: array });
      const checked: HostArray | undefined = x;
      expect(checked).toEqual(array);
      const failure: TesseractError = await failureOf(() => tess.jacobian({}, ["x"], ["y"]));
      expect(failure).toEqual(tesseractError("ENDPOINT_NOT_FOUND", '"jacobian"'));
      expect(failure.hint).toContain("apply, abstractEval, health");
    },
  );
});
