import { type ReceivedArray, TesseractError } from "@tesseract-ts/core";
import { describe, expect, test } from "vitest";
import { formatDescriptor, parseDescriptor } from "../../src/transport/descriptor.js";

const uuid = "0b2a7b3e-1f6c-4a0e-9d33-5a1f0c7e21aa";
const handle = Buffer.alloc(64, 7).toString("base64");

const array = (buffer: unknown, changes: Partial<ReceivedArray> = {}): ReceivedArray => ({
  object_type: "array",
  shape: [4],
  dtype: "float64",
  path: "outputs.y",
  data: { encoding: "cuda_ipc", buffer },
  ...changes,
});

function refusal(buffer: unknown, changes?: Partial<ReceivedArray>): TesseractError {
  try {
    parseDescriptor(array(buffer, changes));
  } catch (error) {
    if (error instanceof TesseractError) return error;
    throw error;
  }
  throw new Error("Nothing was refused");
}

describe("a descriptor", () => {
  test("is read as it was written", () => {
    const written = { uuid, handle: new Uint8Array(64).fill(7), offset: 512, size: 4096 };
    expect(formatDescriptor(written)).toBe(`${uuid}:${handle}:512:4096`);
    expect(parseDescriptor(array(formatDescriptor(written)))).toEqual(written);
  });

  test("of an empty array has no handle", () => {
    const written = { uuid, handle: undefined, offset: 0, size: 0 };
    expect(formatDescriptor(written)).toBe(`${uuid}::0:0`);
    expect(parseDescriptor(array(`${uuid}::0:0`, { shape: [0, 3] }))).toEqual(written);
  });

  test("may name a larger allocation than the array needs", () => {
    expect(parseDescriptor(array(`${uuid}:${handle}:32:64`))).toMatchObject({ offset: 32, size: 64 });
  });

  test.each<[string, unknown, string]>([
    ["that is a number", 5, "uuid:handle:offset:size"],
    ["that is null", null, "uuid:handle:offset:size"],
    ["that is empty", "", "uuid:handle:offset:size"],
    ["with too few parts", `${uuid}:${handle}:0`, "uuid:handle:offset:size"],
    ["with too many parts", `${uuid}:${handle}:0:32:1`, "uuid:handle:offset:size"],
    ["that is endless", `${uuid}:${"A".repeat(1e6)}:0:32`, "uuid:handle:offset:size"],
    ["with an upper-case UUID", `${uuid.toUpperCase()}:${handle}:0:32`, "UUID"],
    ["with a UUID and more", `GPU-${uuid}:${handle}:0:32`, "UUID"],
    ["with a short handle", `${uuid}:${Buffer.alloc(63).toString("base64")}:0:32`, "64 bytes"],
    ["with a long handle", `${uuid}:${Buffer.alloc(66).toString("base64")}:0:32`, "64 bytes"],
    ["with a handle that isn't base64", `${uuid}:${"!".repeat(86)}==:0:32`, "64 bytes"],
    ["with a negative offset", `${uuid}:${handle}:-8:32`, "number of bytes"],
    ["with a fraction", `${uuid}:${handle}:0.5:32`, "number of bytes"],
    ["with an offset in hexadecimal", `${uuid}:${handle}:0x8:32`, "number of bytes"],
    ["with numbers that JavaScript can't keep", `${uuid}:${handle}:9007199254740993:32`, "too large"],
    ["with endless numbers", `${uuid}:${handle}:${"9".repeat(40)}:32`, "number of bytes"],
    ["whose array begins behind its storage", `${uuid}:${handle}:64:32`, "32 bytes from 64 on"],
    ["whose array ends behind its storage", `${uuid}:${handle}:8:32`, "32 bytes from 8 on"],
    ["without a handle for an array that has elements", `${uuid}::0:0`, "no handle"],
  ])("%s is refused", (_, buffer, words) => {
    const error = refusal(buffer);
    expect(error.code).toBe("DECODE_FAILED");
    expect(error.message).toContain("outputs.y");
    expect(error.message).toContain(words);
  });

  test("with an ordinal, as runtimes 1.13 and 1.14 write it, says that the runtime is too old", () => {
    const error = refusal(`0:${handle}:0:32`);
    expect(error.code).toBe("RUNTIME_TOO_OLD");
    expect(error.hint).toContain("1.15");
  });
});
