import { describe, expect, test } from "vitest";
import {
  acceptHeader,
  capabilitiesOf,
  fitToServer,
  mergeEncodings,
  type RequestedEncoding,
  type ServerCapabilities,
} from "../src/encoding.js";
// As a user would write a transport: from what the package exports.
import {
  bytesOf,
  fromUrl,
  type HostTransport,
  hostArray,
  itemSize,
  makeHostArray,
  TesseractError,
  viewAs,
} from "../src/index.js";
import { TransportSet } from "../src/transport-set.js";
import { json, openapi, serveTesseract } from "./http/servers.js";
import { numberedDevice, numberedHost } from "./message/transports.js";
import { failureOf, tesseractError } from "./support.js";

const modern: ServerCapabilities = {
  outputFormats: ["json", "json+base64", "json+binref"],
  gpuTransports: ["none", "cuda_ipc"],
  compressions: ["none", "lz4"],
};
const unusable = (name: string): HostTransport => ({
  ...numberedHost(name),
  probe: async () => ({ ok: false, reason: `no ${name} here`, hint: `install ${name}` }),
});

describe("what a server offers", () => {
  test("is read from its OpenAPI document", () => {
    expect(capabilitiesOf(openapi())).toEqual({
      outputFormats: ["json", "json+base64", "json+binref"],
      gpuTransports: ["none"],
      compressions: ["none", "lz4"],
    });
  });

  test("is nothing known where it doesn't say, or says nonsense", () => {
    const nothing = { outputFormats: undefined, gpuTransports: undefined, compressions: undefined };
    expect(capabilitiesOf({})).toEqual(nothing);
    const odd = {
      "x-supported-output-formats": "json",
      "x-supported-gpu-transports": {},
      "x-supported-compressions": null,
    };
    expect(capabilitiesOf(odd)).toEqual(nothing);
    expect(capabilitiesOf({ "x-supported-output-formats": ["json", 3, null] }).outputFormats).toEqual(["json"]);
  });
});

describe("a request that a server offers", () => {
  test.each<[RequestedEncoding, string]>([
    [{}, "application/*"],
    [{ outputFormat: "json" }, "application/json"],
    [{ outputFormat: "json+base64", gpuTransport: "none" }, "application/json+base64; gpu_transport=none"],
    [
      { outputFormat: "json+base64", gpuTransport: "cuda_ipc", compression: "lz4" },
      "application/json+base64; gpu_transport=cuda_ipc; compression=lz4",
    ],
    [{ compression: "none" }, "application/*; compression=none"],
  ])("%j is asked for as it is", (requested, header) => {
    expect(fitToServer(requested, modern)).toEqual(requested);
    expect(acceptHeader(requested)).toBe(header);
  });

  test.each<[RequestedEncoding, string, string]>([
    [{ outputFormat: "json+shm" }, 'outputFormat "json+shm"', '"json", "json+base64", "json+binref"'],
    [{ outputFormat: "base64" }, 'outputFormat "base64"', '"json+base64"'],
    [{ gpuTransport: "nccl" }, 'gpuTransport "nccl"', '"none", "cuda_ipc"'],
    [{ compression: "lz4" }, 'compression "lz4"', '"none"'],
  ])("%j is refused where it isn't offered, with what is", async (requested, words, hint) => {
    const offered = { ...modern, compressions: ["none"] };
    const error = await failureOf(() => fitToServer(requested, offered));
    expect(error).toEqual(tesseractError("ENCODING_UNAVAILABLE", words));
    expect(error.hint).toContain(hint);
  });

  test("is one that a runtime of 1.13 or 1.14 understands", async () => {
    const offered = { outputFormats: ["json"], gpuTransports: undefined, compressions: undefined };
    const requested = { outputFormat: "json", gpuTransport: "none", compression: "lz4" } as const;
    expect(fitToServer(requested, offered)).toEqual(requested);
    const error = await failureOf(() => fitToServer({ gpuTransport: "cuda_ipc" }, offered));
    expect(error).toEqual(tesseractError("RUNTIME_TOO_OLD", "cuda_ipc"));
    expect(error.hint).toContain("1.15");
  });

  test("is one that a runtime before 1.13 understands, which reads the header as one word", async () => {
    const offered = { outputFormats: undefined, gpuTransports: undefined, compressions: undefined };
    expect(fitToServer({}, offered)).toEqual({ outputFormat: undefined });
    expect(fitToServer({ outputFormat: "json", gpuTransport: "none" }, offered)).toEqual({ outputFormat: "json" });
    for (const requested of [{ compression: "lz4" }, { compression: "none" }, { gpuTransport: "cuda_ipc" }] as const) {
      expect(await failureOf(() => fitToServer(requested, offered))).toEqual(tesseractError("RUNTIME_TOO_OLD", "1.13"));
    }
    expect(await failureOf(() => fitToServer({ outputFormat: "json+shm" }, offered))).toEqual(
      tesseractError("ENCODING_UNAVAILABLE"),
    );
  });
});

test("an encoding over another keeps what it doesn't name", () => {
  const base = { outputFormat: "json", gpuTransport: "none", compression: "lz4" } as const;
  expect(mergeEncodings(base, {})).toEqual(base);
  expect(mergeEncodings(base, { compression: "none", outputFormat: undefined })).toEqual({
    ...base,
    compression: "none",
  });
  expect(mergeEncodings({}, {})).toEqual({ outputFormat: undefined, gpuTransport: undefined, compression: undefined });
});

describe("a set of transports", () => {
  const formatOf = (...transports: HostTransport[]): Promise<string> =>
    new TransportSet(transports).preferredFormat(modern);

  test("prefers the first that the server offers and this process can use", async () => {
    const [base64, plain, binref, shm] = ["base64", "json", "binref", "shm"].map((name) => numberedHost(name));
    if (!base64 || !plain || !binref || !shm) throw new Error("A transport is missing");
    expect(await formatOf(base64, plain)).toBe("json+base64");
    expect(await formatOf(plain, base64)).toBe("json");
    expect(await formatOf(shm, binref, plain)).toBe("json+binref");
    expect(await formatOf(unusable("base64"), unusable("binref"), plain)).toBe("json");
    expect(await new TransportSet([[shm, [base64]].flat(), plain]).preferredFormat(modern)).toBe("json+base64");
  });

  test("says what each side has where nothing fits", async () => {
    const error = await failureOf(() => formatOf(numberedHost("shm"), unusable("base64")));
    expect(error).toEqual(tesseractError("ENCODING_UNAVAILABLE"));
    expect(error.hint).toBe(
      "It offers json, json+base64, json+binref; transports were passed for json+shm, json+base64 (base64: no base64 here).",
    );
  });

  test("takes the usual formats for offered where the server doesn't say", async () => {
    const unknown = { outputFormats: undefined, gpuTransports: undefined, compressions: undefined };
    expect(await new TransportSet([numberedHost("shm"), numberedHost("json")]).preferredFormat(unknown)).toBe("json");
  });

  test("has each name once", async () => {
    for (const second of [numberedHost("shm"), numberedDevice("shm")]) {
      expect(await failureOf(() => new TransportSet([numberedHost("shm"), [second]]))).toEqual(
        tesseractError("INVALID_ARGUMENT", '"shm"'),
      );
    }
  });

  test.each([[[]], [[[]]], [[numberedDevice()]]])("has one for the host", async (transports) => {
    const error = await failureOf(() => new TransportSet(transports));
    expect(error).toEqual(tesseractError("INVALID_ARGUMENT", "host's memory"));
    expect(error.hint).toContain("npm install @tesseract-ts/transport-host");
  });

  test("is asked for nothing that it doesn't have", async () => {
    const set = new TransportSet([numberedHost("base64"), numberedDevice("cuda_ipc")]);
    set.check({});
    set.check({ outputFormat: "json+base64", gpuTransport: "cuda_ipc" });
    set.check({ gpuTransport: "none" });
    const format = await failureOf(() => set.check({ outputFormat: "json" }));
    expect(format).toEqual(tesseractError("TRANSPORT_MISSING", 'outputFormat "json"'));
    expect(format.hint).toContain("json+base64");
    const gpu = await failureOf(() => set.check({ gpuTransport: "nccl" }));
    expect(gpu).toEqual(tesseractError("TRANSPORT_MISSING", 'gpuTransport "nccl"'));
    expect(gpu.hint).toContain("none, cuda_ipc");
    // A GPU transport is no output format, nor the other way round.
    expect(await failureOf(() => set.check({ outputFormat: "json+cuda_ipc" }))).toEqual(
      tesseractError("TRANSPORT_MISSING"),
    );
    expect(await failureOf(() => set.check({ gpuTransport: "base64" }))).toEqual(tesseractError("TRANSPORT_MISSING"));
  });

  test("asks each transport only once whether it can be used", async () => {
    let probed = 0;
    const counted: HostTransport = {
      ...numberedHost("base64"),
      probe: async () => {
        probed++;
        return { ok: true };
      },
    };
    const set = new TransportSet([counted]);
    await set.preferredFormat(modern);
    await set.plan({ outputFormat: "json+base64" }, modern);
    await set.plan({ outputFormat: "json+base64" }, modern);
    expect(probed).toBe(1);
  });

  test("plans a request: how arrays are sent, and whether they are compressed", async () => {
    const [first, second, device] = [numberedHost("json"), numberedHost("binref"), numberedDevice("cuda_ipc")];
    const set = new TransportSet([first, second, device]);
    expect(await set.plan({ outputFormat: "json+binref", gpuTransport: "none", compression: "lz4" }, modern)).toEqual({
      host: second,
      device: undefined,
      compression: "lz4",
    });
    expect(await set.plan({ outputFormat: "json", gpuTransport: "cuda_ipc" }, modern)).toEqual({
      host: first,
      device,
      compression: "none",
    });
    // Only a server that says so is known to take compressed buffers.
    const silent = { ...modern, compressions: undefined };
    expect((await set.plan({ outputFormat: "json", compression: "lz4" }, silent)).compression).toBe("none");
  });

  test("plans another transport for sending where the format's can only receive", async () => {
    const receiver = { ...numberedHost("binref"), sends: false };
    const sender = numberedHost("json");
    const { host } = await new TransportSet([receiver, sender]).plan({ outputFormat: "json+binref" }, modern);
    expect(host).toBe(sender);
    expect(await failureOf(() => new TransportSet([receiver]).plan({ outputFormat: "json+binref" }, modern))).toEqual(
      tesseractError("TRANSPORT_UNUSABLE", "json+binref"),
    );
  });

  test("refuses to plan with a transport that can't be used, and says why", async () => {
    const device = { ...numberedDevice("cuda_ipc"), probe: async () => ({ ok: false, reason: "no driver" }) as const };
    const set = new TransportSet([numberedHost("json"), unusable("base64"), device]);
    const error = await failureOf(() => set.plan({ outputFormat: "json+base64" }, modern));
    expect(error).toEqual(tesseractError("TRANSPORT_UNUSABLE", '"base64"', "no base64 here"));
    expect(error.hint).toBe("install base64");
    expect(await failureOf(() => set.plan({ outputFormat: "json", gpuTransport: "cuda_ipc" }, modern))).toEqual(
      tesseractError("TRANSPORT_UNUSABLE", '"cuda_ipc"', "no driver"),
    );
  });
});

describe("a transport of a user's own", () => {
  /** Memory that both sides see, as far as this test goes. */
  const segments = new Map<string, Uint8Array>();

  const sharedMemory = (): HostTransport & { readonly released: string[] } => {
    const released: string[] = [];
    return {
      name: "shm",
      carries: "host",
      reach: "host",
      released,
      probe: async () => ({ ok: true }),
      async encode(arrays) {
        const names = arrays.map((array) => {
          const name = `/segment-${segments.size}`;
          segments.set(name, bytesOf(array).slice());
          return name;
        });
        return {
          arrays: arrays.map(({ shape, dtype }, index) => ({
            object_type: "array",
            shape,
            dtype,
            data: { encoding: "shm", buffer: { segment: names[index], offset: 0 } },
          })),
          lease: { release: async () => void released.push(...names) },
        };
      },
      async decode(encoded) {
        return encoded.map(({ shape, dtype, data: { buffer }, path }) => {
          const name =
            typeof buffer === "object" && buffer !== null && "segment" in buffer ? buffer.segment : undefined;
          const bytes = segments.get(String(name))?.slice();
          if (bytes === undefined) throw new TesseractError("DECODE_FAILED", `${path}: no segment ${name}`);
          return makeHostArray(dtype, shape, viewAs(dtype, bytes.buffer, 0, bytes.length / itemSize(dtype)));
        });
      },
    };
  };
  const offering = (...formats: string[]) =>
    serveTesseract(
      ({ body, headers }, response) => {
        const format = /^application\/([^;]*)/.exec(headers.accept ?? "")?.[1];
        json(response, { ...JSON.parse(String(body)).inputs, format }, { "content-type": `application/${format}` });
      },
      openapi({ "x-supported-output-formats": formats }),
    );
  const x = hostArray(new Int16Array([1, -2, 3, 4]), { shape: [2, 2] });

  test("is negotiated where the server offers it, and carries arrays both ways", async () => {
    await using server = await offering("json", "json+shm");
    const transport = sharedMemory();
    await using tess = await fromUrl(server.origin, { transports: [transport, numberedHost("json")] });
    expect(tess.currentEncoding.outputFormat).toBe("json+shm");
    expect(await tess.apply({ x, n: 1, list: [x] })).toEqual({ x, n: 1, list: [x], format: "json+shm" });
    expect(transport.released).toEqual([...segments.keys()]);
  });

  test("is passed over where the server doesn't offer it, unless it is asked for", async () => {
    await using server = await offering("json", "json+base64");
    const transports = [sharedMemory(), numberedHost("json")];
    await using tess = await fromUrl(server.origin, { transports });
    expect(tess.currentEncoding.outputFormat).toBe("json");
    expect(await tess.apply({ x })).toEqual({ x, format: "json" });
    expect(await failureOf(() => fromUrl(server.origin, { transports, outputFormat: "json+shm" }))).toEqual(
      tesseractError("ENCODING_UNAVAILABLE", "json+shm"),
    );
  });

  test("is used where it is asked for, although another comes first", async () => {
    await using server = await offering("json", "json+shm");
    const transports = [numberedHost("json"), sharedMemory()];
    await using tess = await fromUrl(server.origin, { transports, outputFormat: "json+shm" });
    expect(await tess.apply({ x })).toEqual({ x, format: "json+shm" });
    expect(await tess.withEncoding({ outputFormat: "json" }).apply({ x })).toEqual({ x, format: "json" });
  });

  test("that can't be used here is passed over, but an error where it is asked for", async () => {
    await using server = await offering("json", "json+shm");
    const transports = [unusable("shm"), numberedHost("json")];
    await using tess = await fromUrl(server.origin, { transports });
    expect(tess.currentEncoding.outputFormat).toBe("json");
    await using asked = await fromUrl(server.origin, { transports, outputFormat: "json+shm" });
    expect(await failureOf(() => asked.apply({ x }))).toEqual(tesseractError("TRANSPORT_UNUSABLE", "no shm here"));
  });

  test("that nobody passed can't be asked for", async () => {
    await using server = await offering("json", "json+shm");
    expect(
      await failureOf(() => fromUrl(server.origin, { transports: [numberedHost("json")], outputFormat: "json+shm" })),
    ).toEqual(tesseractError("TRANSPORT_MISSING", "json+shm"));
  });
});
