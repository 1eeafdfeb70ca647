import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DType, type HostArray, hostArray } from "@tesseract-ts/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { binref as portable } from "../../src/binref/binref.js";
import { base64, binref, host } from "../../src/index.js";
import { compress } from "../lz4/support.js";
import { failureOf, memoryTaken, receivedArray, tesseractError, textOf } from "../support.js";

let root: string;
let inputPath: string;
let outputPath: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "tesseract-binref-"));
  inputPath = join(root, "in");
  outputPath = join(root, "out");
  mkdirSync(inputPath);
  mkdirSync(join(outputPath, "run_1"), { recursive: true });
  writeFileSync(join(root, "secret.bin"), "secret");
  writeFileSync(
    join(outputPath, "run_1", "a.bin"),
    Uint8Array.from({ length: 64 }, (_, i) => i),
  );
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

const context = { compression: "none" } as const;

/** The arrays that references are to; each is 8 bytes unless told. */
function decode(
  buffers: readonly unknown[],
  parts: { readonly shape?: readonly number[]; readonly dtype?: DType; readonly compression?: "lz4" } = {},
): Promise<readonly HostArray[]> {
  const { shape = [8], dtype = "uint8", compression } = parts;
  const encoded = buffers.map((buffer) =>
    receivedArray({ shape, dtype, buffer, encoding: "binref", ...(compression === undefined ? {} : { compression }) }),
  );
  return binref({ outputPath }).decode(encoded, {});
}

const refusal = (buffer: unknown, parts?: Parameters<typeof decode>[1]) => failureOf(() => decode([buffer], parts));

describe("a reference", () => {
  test("names bytes of a file below the output directory", async () => {
    const arrays = await decode(["run_1/a.bin:0", "run_1/a.bin:56", "run_1/a.bin", "./run_1/../run_1//a.bin:3"]);
    expect(arrays.map(({ data }) => data[0])).toEqual([0, 56, 0, 3]);
    expect(arrays[1]).toMatchObject({
      dtype: "uint8",
      shape: [8],
      data: Uint8Array.of(56, 57, 58, 59, 60, 61, 62, 63),
    });
  });

  test("may be to an odd place, of which arrays of larger elements are made all the same", async () => {
    const [array] = await decode(["run_1/a.bin:3"], { shape: [2], dtype: "uint32" });
    expect(array?.data).toEqual(new Uint32Array([0x06050403, 0x0a090807]));
  });

  test("may be to a file with any name", async () => {
    for (const name of ["a b.bin", "é.bin", "..a", "a..b", "#1?x=%2e%2e"]) {
      writeFileSync(join(outputPath, name), "12345678");
      expect((await decode([`${name}:0`]))[0]?.data).toEqual(Uint8Array.from(Buffer.from("12345678")));
    }
  });

  test("may be to the same bytes as another; the arrays share no memory", async () => {
    const [first, second] = await decode(["run_1/a.bin:0", "run_1/a.bin:0"]);
    expect(first?.data).toEqual(second?.data);
    expect(first?.data.buffer).not.toBe(second?.data.buffer);
  });

  test("may say how many bytes are compressed", async () => {
    const frame = compress(new Uint8Array(1000).fill(7));
    writeFileSync(join(outputPath, "c.bin"), Buffer.concat([Buffer.from("xx"), frame, Buffer.from("yy")]));
    const parts = { shape: [1000], compression: "lz4" } as const;
    expect((await decode([`c.bin:2:${frame.length}`], parts))[0]?.data).toEqual(new Uint8Array(1000).fill(7));
    for (const reference of ["c.bin:2", "c.bin"]) {
      expect(await refusal(reference, parts)).toEqual(tesseractError("DECODE_FAILED", "y: ", "how many"));
    }
    for (const size of [frame.length - 1, frame.length + 1, 0]) {
      expect(await refusal(`c.bin:2:${size}`, parts)).toEqual(tesseractError("DECODE_FAILED", "y: "));
    }
    expect(await refusal(`c.bin:2:${frame.length + 100}`, parts)).toEqual(tesseractError("DECODE_FAILED", "y: "));
  });

  test.each([
    ["the parent", "../secret.bin:0"],
    ["the parent, from below", "run_1/../../secret.bin:0"],
    ["the directory itself", ".:0"],
    ["the directory itself, from below", "run_1/..:0"],
    ["the parent alone", "..:0"],
    ["another directory whose name begins alike", "../out2/a.bin:0"],
    ["an absolute path", "/etc/passwd:0"],
    ["a URL of a file", "file:///etc/passwd:0"],
    ["a URL of a server", "http://localhost/a.bin:0"],
    ["a URL of a bucket", "s3://bucket/a.bin"],
    ["a NUL", "run_1/a.bin\0.txt:0"],
  ])("never leaves the output directory: %s", async (_, reference) => {
    mkdirSync(join(root, "out2"));
    writeFileSync(join(root, "out2", "a.bin"), "12345678");
    const error = await refusal(reference, { shape: [1] });
    expect(error).toEqual(tesseractError("PATH_ESCAPE", "y: ", outputPath));
    expect(error.hint).toContain("isn't read");
  });

  test("never leaves the output directory by its own absolute path", async () => {
    expect(await refusal(join(outputPath, "run_1/a.bin:0"))).toEqual(tesseractError("PATH_ESCAPE"));
  });

  test("never leaves the output directory by a symbolic link", async () => {
    symlinkSync(join(root, "secret.bin"), join(outputPath, "file"));
    symlinkSync(root, join(outputPath, "folder"));
    symlinkSync("../..", join(outputPath, "run_1", "up"));
    symlinkSync("file", join(outputPath, "twice"));
    for (const reference of ["file", "folder/secret.bin", "run_1/up/secret.bin", "run_1/up/out/file", "twice"]) {
      expect(await refusal(`${reference}:0`, { shape: [1] }), reference).toEqual(tesseractError("PATH_ESCAPE"));
    }
  });

  test("may use symbolic links that stay within it, and the directory may be one", async () => {
    symlinkSync(join("run_1", "a.bin"), join(outputPath, "file"));
    symlinkSync(join(outputPath, "run_1"), join(outputPath, "latest"));
    expect((await decode(["file:8", "latest/a.bin:16"])).map(({ data }) => data[0])).toEqual([8, 16]);
    symlinkSync(outputPath, join(root, "link"));
    const linked = binref({ outputPath: join(root, "link") });
    const encoded = receivedArray({ shape: [1], dtype: "uint8", buffer: "run_1/a.bin:5", encoding: "binref" });
    expect((await linked.decode([encoded], {}))[0]?.data).toEqual(Uint8Array.of(5));
  });

  test("is only to regular files", async () => {
    execFileSync("mkfifo", [join(outputPath, "fifo")]);
    for (const name of ["run_1", "fifo"]) {
      expect(await refusal(`${name}:0`)).toEqual(tesseractError("FILE_ERROR", "y: ", "no regular file"));
    }
    symlinkSync("loop", join(outputPath, "loop"));
    for (const name of ["nothing.bin", "run_1/nothing.bin", "run_1/a.bin/b", "loop", `${"x".repeat(300)}.bin`]) {
      const error = await refusal(`${name}:0`);
      expect(error).toEqual(tesseractError("FILE_ERROR", "y: ", outputPath));
      expect(error.hint).toContain("outputPath");
    }
  });

  test("is to bytes that are there", async () => {
    for (const reference of ["run_1/a.bin:57", "run_1/a.bin:64", "run_1/a.bin:1000", "run_1/a.bin:9007199254740991"]) {
      expect(await refusal(reference)).toEqual(tesseractError("DECODE_FAILED", "y: ", "run_1/a.bin", "has 64"));
    }
    const taken = await memoryTaken(async () => {
      expect(await refusal("run_1/a.bin:0", { shape: [10 ** 12], dtype: "float64" })).toEqual(
        tesseractError("DECODE_FAILED", "has 64"),
      );
    });
    expect(taken).toBeLessThan(1 << 20);
  });

  test("to no bytes at all is one to an array without elements", async () => {
    expect((await decode(["run_1/a.bin:64"], { shape: [0, 3], dtype: "float64" }))[0]).toEqual(
      hostArray(new Float64Array(0), { shape: [0, 3] }),
    );
  });

  test.each([[""], [3], [null], [{ toString: 1 }], [["run_1/a.bin:0"]], [new Uint8Array(3)]])(
    "is never %j",
    async (buffer) => {
      expect(await refusal(buffer)).toEqual(tesseractError("DECODE_FAILED", "y: ", "no reference"));
    },
  );

  test("has an offset and a size that can be counted exactly", async () => {
    for (const reference of [
      "run_1/a.bin:9007199254740992",
      "run_1/a.bin:0:99999999999999999999",
      `a:${"9".repeat(400)}`,
    ]) {
      expect(await refusal(reference)).toEqual(tesseractError("DECODE_FAILED", "y: ", "too large"));
    }
    // What is no offset belongs to the name, and there is no such file.
    for (const reference of ["run_1/a.bin:-1", "run_1/a.bin:1e3", "run_1/a.bin:", "run_1/a.bin:1:2:3"]) {
      expect(await refusal(reference)).toEqual(tesseractError("FILE_ERROR"));
    }
  });
});

describe("sending", () => {
  test("puts a request's arrays into one file, and removes it when the request is over", async () => {
    const arrays = [
      hostArray(new Float64Array([1, 2])),
      hostArray(new Uint8Array([3])),
      hostArray(new Int32Array([4])),
    ];
    const { arrays: encoded, lease } = await binref({ inputPath }).encode(arrays, context);
    const [name] = readdirSync(inputPath);
    expect(readdirSync(inputPath)).toHaveLength(1);
    expect(JSON.parse(await textOf(encoded))).toEqual(
      [0, 16, 17].map((offset, index) => ({
        object_type: "array",
        shape: arrays[index]?.shape,
        dtype: arrays[index]?.dtype,
        data: { encoding: "binref", buffer: `${name}:${offset}` },
      })),
    );
    const bytes = arrays.map(({ data }) => Buffer.from(data.buffer));
    expect(readFileSync(join(inputPath, name ?? ""))).toEqual(Buffer.concat(bytes));
    await lease?.release();
    expect(readdirSync(inputPath)).toEqual([]);
    await lease?.release();
  });

  test("gives each request files of its own", async () => {
    const transport = binref({ inputPath });
    const array = hostArray(new Uint8Array(3));
    const messages = await Promise.all([1, 2, 3].map(() => transport.encode([array], context)));
    expect(readdirSync(inputPath)).toHaveLength(3);
    await messages[1]?.lease?.release();
    expect(readdirSync(inputPath)).toHaveLength(2);
    await Promise.all(messages.map(({ lease }) => lease?.release()));
    expect(readdirSync(inputPath)).toEqual([]);
  });

  test("says how many bytes each compressed array has", async () => {
    const array = hostArray(new Float64Array(1000));
    const { arrays, lease } = await binref({ inputPath }).encode([array, array], { compression: "lz4" });
    const [name] = readdirSync(inputPath);
    const { length } = compress(new Uint8Array(8000));
    expect(arrays.map(({ data }) => data)).toEqual([
      { encoding: "binref", buffer: `${name}:0:${length}`, compression: "lz4" },
      { encoding: "binref", buffer: `${name}:${length}:${length}`, compression: "lz4" },
    ]);
    await lease?.release();
  });

  test("begins a new file after 100 MB", async () => {
    const large = hostArray(new Uint8Array(100 * 1024 * 1024 + 1));
    const small = hostArray(new Uint8Array([1]));
    const { arrays, lease } = await binref({ inputPath }).encode([small, large, small, small], context);
    const places = arrays.map(({ data }) => String(data.buffer).split(":"));
    expect(new Set(places.map(([file]) => file)).size).toBe(2);
    expect(places.map(([, offset]) => Number(offset))).toEqual([0, 1, 0, 1]);
    await lease?.release();
    expect(readdirSync(inputPath)).toEqual([]);
  });

  test("without arrays leaves nothing in the directory", async () => {
    const { arrays, lease } = await binref({ inputPath }).encode([], context);
    expect(arrays).toEqual([]);
    expect(readdirSync(inputPath)).toEqual([]);
    await lease?.release();
  });

  test("is a file error where nothing can be written", async () => {
    for (const directory of [join(root, "nowhere"), join(root, "secret.bin")]) {
      const error = await failureOf(() => binref({ inputPath: directory }).encode([hostArray([1])], context));
      expect(error).toEqual(tesseractError("FILE_ERROR", directory));
    }
  });

  test("leaves nothing behind where it is aborted", async () => {
    const controller = new AbortController();
    controller.abort(new Error("enough"));
    for (const compression of ["none", "lz4"] as const) {
      const work = binref({ inputPath }).encode([hostArray(new Uint8Array(5_000_000).map((_, i) => i * i))], {
        compression,
        signal: controller.signal,
      });
      await expect(work).rejects.toThrow("enough");
      expect(readdirSync(inputPath)).toEqual([]);
    }
  });

  test("is over without complaint where the server has removed the file", async () => {
    const { lease } = await binref({ inputPath }).encode([hostArray([1])], context);
    for (const name of readdirSync(inputPath)) rmSync(join(inputPath, name));
    await lease?.release();
  });
});

describe("binref can be used", () => {
  test("with an outputPath", async () => {
    expect(await binref({ outputPath }).probe()).toEqual({ ok: true });
    expect(await binref({ inputPath }).probe()).toMatchObject({
      ok: false,
      hint: expect.stringContaining("outputPath"),
    });
    expect(await binref().probe()).toMatchObject({ ok: false });
    const encoded = receivedArray({ shape: [1], dtype: "uint8", buffer: "a:0", encoding: "binref" });
    expect(await failureOf(() => binref().decode([encoded], {}))).toEqual(tesseractError("TRANSPORT_UNUSABLE"));
  });

  test("for sending only with an inputPath", async () => {
    expect(binref({ outputPath }).sends).toBe(false);
    expect(binref({ inputPath, outputPath }).sends).toBe(true);
    expect(await failureOf(() => binref({ outputPath }).encode([hostArray([1])], context))).toEqual(
      tesseractError("TRANSPORT_UNUSABLE", "inputPath"),
    );
    expect(base64().sends).not.toBe(false);
    expect(host({ outputPath }).map(({ sends }) => sends !== false)).toEqual([true, true, false]);
  });

  test("never in a browser, which it says", async () => {
    const transport = portable({ inputPath, outputPath });
    expect(transport).toMatchObject({ name: "binref", carries: "host", sends: false });
    expect(await transport.probe()).toMatchObject({ ok: false, hint: expect.stringContaining("base64") });
    expect(await failureOf(() => transport.encode([hostArray([1])], context))).toEqual(
      tesseractError("UNSUPPORTED_PLATFORM"),
    );
    expect(await failureOf(() => transport.decode([], {}))).toEqual(tesseractError("UNSUPPORTED_PLATFORM"));
    expect(existsSync(inputPath)).toBe(true);
  });
});

describe("at a server", () => {
  const atServer = (folder = "run_7") => binref().atServer({ inputPath, outputPath, folder });

  test("outputs go into the folder of their run, which is made when something is written", async () => {
    const server = atServer();
    expect(readdirSync(outputPath)).toEqual(["run_1"]);
    const { arrays, lease } = await server.encode([hostArray([1, 2]), hostArray([3])], context);
    expect(arrays.map(({ data }) => data.buffer)).toEqual([
      expect.stringMatching(/^run_7\/[0-9a-f-]{36}\.bin:0$/),
      expect.stringMatching(/^run_7\/[0-9a-f-]{36}\.bin:16$/),
    ]);
    expect(readdirSync(join(outputPath, "run_7"))).toHaveLength(1);
    expect(lease).toBeUndefined();
  });

  test("nothing to write makes no folder", async () => {
    expect((await atServer().encode([], context)).arrays).toEqual([]);
    expect(readdirSync(outputPath)).toEqual(["run_1"]);
  });

  test("a client reads what it wrote, compressed or not", async () => {
    for (const compression of ["none", "lz4"] as const) {
      const { arrays } = await atServer().encode([hostArray([1, 2])], { compression });
      const received = arrays.map((array) => ({ ...array, path: "y" }));
      expect(await binref({ outputPath }).decode(received, {})).toEqual([hostArray([1, 2])]);
    }
  });

  test("it reads what a client wrote, and nothing outside of its input directory", async () => {
    const { arrays, lease } = await binref({ inputPath, outputPath }).encode([hostArray([1, 2])], context);
    const received = arrays.map((array) => ({ ...array, path: "x" }));
    expect(await atServer().decode(received, {})).toEqual([hostArray([1, 2])]);
    await lease?.release();
    for (const buffer of ["../secret.bin", join(root, "secret.bin"), "file:///etc/passwd", "../out/run_1/a.bin"]) {
      const hostile = receivedArray({ shape: [6], dtype: "uint8", buffer, encoding: "binref" });
      expect(await failureOf(() => atServer().decode([hostile], {}))).toEqual(tesseractError("PATH_ESCAPE"));
    }
  });

  test("an output that can't be written is an error, and leaves no file behind", async () => {
    const signal = AbortSignal.abort(new Error("given up"));
    await expect(atServer().encode([hostArray([1])], { compression: "none", signal })).rejects.toThrow("given up");
    expect(readdirSync(join(outputPath, "run_7"))).toEqual([]);
    writeFileSync(join(outputPath, "run_8"), "");
    expect(await failureOf(() => atServer("run_8").encode([hostArray([1])], context))).toEqual(
      tesseractError("FILE_ERROR", outputPath),
    );
  });
});
