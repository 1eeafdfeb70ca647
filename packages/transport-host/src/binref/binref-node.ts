/** The transport `binref`: arrays in files that both sides see. */
import {
  bytesOf,
  type EncodeContext,
  type EncodedArray,
  type HostArray,
  type HostTransport,
  type MessageContext,
  type ReceivedArray,
  type Session,
  TesseractError,
} from "@tesseract-ts/core";
import { arrayFromBytes, compress } from "../buffers.js";
import { endianness, refuseBigEndian } from "../endianness.js";
import { AnticipatedMemory } from "./anticipated-memory.js";
import { ArrayFiles } from "./array-files.js";
import type { BinrefOptions, FileTransport, ServerDirectories } from "./options.js";
import { readFile } from "./read-file.js";
import { WarmFiles } from "./warm-files.js";

/**
 * The transport `binref`, output format `json+binref`: for a server on this host, or one that shares directories.
 */
export function binref(options: BinrefOptions = {}): FileTransport {
  return {
    ...transport(options, undefined),
    atServer,
    connect(): FileTransport & Session {
      const { inputPath } = options;
      const warm = inputPath === undefined ? undefined : new WarmFiles();
      return { ...transport(options, warm), atServer, close: async () => warm?.close() };
    },
  };
}

/** @param warm files that are used again, if they may be */
function transport({ inputPath, outputPath }: BinrefOptions, warm: WarmFiles | undefined): HostTransport {
  const memory = new AnticipatedMemory();
  return {
    name: "binref",
    carries: "host",
    reach: "host",
    sends: inputPath !== undefined,
    async probe() {
      const found = endianness();
      if (!found.ok || outputPath !== undefined) return found;
      return {
        ok: false,
        reason: "no outputPath was given",
        hint: "Pass binref({ outputPath }), the server's output directory as this process sees it.",
      };
    },
    async encode(arrays, context) {
      if (inputPath === undefined) throw missingPath("inputPath");
      const files = new ArrayFiles(inputPath, { warm });
      const encoded = await write(arrays, files, context);
      memory.prepare();
      return { arrays: encoded, lease: files };
    },
    async decode(encoded, context) {
      if (outputPath === undefined) throw missingPath("outputPath");
      return readAll(encoded, outputPath, memory, context);
    },
  };
}

/** The other side of the same: the files of inputs are the client's, and those of outputs stay. */
function atServer({ inputPath, outputPath, folder }: ServerDirectories): HostTransport {
  return {
    name: "binref",
    carries: "host",
    reach: "host",
    probe: async () => endianness(),
    async encode(arrays, context) {
      const files = new ArrayFiles(outputPath, { folder });
      const encoded = await write(arrays, files, context);
      await files.finish();
      return { arrays: encoded };
    },
    decode: (encoded, context) => readAll(encoded, inputPath, new AnticipatedMemory(), context),
  };
}

/** Appends arrays to files; if that fails, no file is left. */
async function write(
  arrays: readonly HostArray[],
  files: ArrayFiles,
  { compression, signal }: EncodeContext,
): Promise<readonly EncodedArray[]> {
  refuseBigEndian();
  try {
    const encoded: EncodedArray[] = [];
    for (const array of arrays) {
      const packed = compression === "none" ? undefined : await compress(bytesOf(array), signal);
      const { name, offset } = await files.append(packed ?? bytesOf(array), signal);
      encoded.push({
        object_type: "array",
        shape: array.shape,
        dtype: array.dtype,
        data:
          packed === undefined
            ? { encoding: "binref", buffer: `${name}:${offset}` }
            : { encoding: "binref", buffer: `${name}:${offset}:${packed.length}`, compression: "lz4" },
      });
    }
    return encoded;
  } catch (error) {
    await files.abandon();
    if (error instanceof TesseractError || signal?.aborted === true) throw error;
    throw new TesseractError("FILE_ERROR", `An array can't be written to ${files.directory}: ${String(error)}`, {
      cause: error,
    });
  }
}

async function readAll(
  encoded: readonly ReceivedArray[],
  directory: string,
  memory: AnticipatedMemory,
  { signal }: MessageContext,
): Promise<readonly HostArray[]> {
  refuseBigEndian();
  const arrays: HostArray[] = [];
  for (const array of encoded) {
    arrays.push(await arrayFromBytes(array, await readFile(array, directory, memory, signal), { signal }));
  }
  return arrays;
}

const missingPath = (name: string): TesseractError =>
  new TesseractError("TRANSPORT_UNUSABLE", `binref was given no ${name}`, { hint: `Pass binref({ ${name} }).` });
