/** Arrays in a GPU's memory, and those of other libraries, in a tree of inputs. */
import type { ArrayAdapter } from "../adapters/adapter.js";
import { asCudaArray, type CudaArray, dtypeOfTypestr } from "../arrays/cuda-array.js";
import { checkHostArray, type HostArray } from "../arrays/host-array.js";
import { TesseractError } from "../errors.js";
import type { FoundArray } from "./leaves.js";

export { builtinAdapters } from "../adapters/builtin.js";

/** @throws TesseractError INVALID_ARRAY, UNSUPPORTED_DTYPE */
export function findForeignArray(value: object, adapters: readonly ArrayAdapter[]): FoundArray | undefined {
  const cuda = asCudaArray(value);
  if (cuda !== undefined) return foundOnDevice(cuda);
  for (const adapter of adapters) {
    const adapted = adapter.adapt(value);
    if (adapted === undefined) continue;
    return {
      dtype: adapted.dtype,
      shape: adapted.shape,
      host: () => readFrom(adapter.name, () => adapted.read()),
    };
  }
  return undefined;
}

function foundOnDevice(cuda: CudaArray): FoundArray {
  const { typestr, shape } = cuda.cudaArrayInterface;
  return {
    dtype: dtypeOfTypestr(typestr),
    shape,
    cuda,
    host: async () => {
      forbidIfAsked();
      if (cuda.copyToHost === undefined) {
        throw new TesseractError("INVALID_ARRAY", "A GPU array has no copyToHost(), so it can't go through the host", {
          hint: "Give it a method copyToHost() that resolves to a HostArray, or use a GPU transport.",
        });
      }
      const { copyToHost } = cuda;
      return readFrom("the GPU", () => copyToHost.call(cuda));
    },
  };
}

/** Runs another library's code, whose errors are then told from this project's own. */
async function readFrom(source: string, read: () => HostArray | Promise<HostArray>): Promise<HostArray> {
  let array: HostArray;
  try {
    array = await read();
  } catch (error) {
    if (error instanceof TesseractError) throw error;
    throw new TesseractError("INVALID_ARRAY", `An array can't be read from ${source}: ${String(error)}`, {
      cause: error,
    });
  }
  checkHostArray(array);
  return array;
}

/** The reference reads the same variable, with the same values. */
function forbidIfAsked(): void {
  const { process } = globalThis as {
    readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  };
  const value = process?.env?.TESSERACT_FORBID_DEVICE_HOST_COPY?.toLowerCase();
  if (value !== "1" && value !== "true") return;
  throw new TesseractError("HOST_COPY_FORBIDDEN", "A GPU array would be copied to the host, which is forbidden here", {
    hint: "Use a GPU transport, call copyToHost() yourself, or unset TESSERACT_FORBID_DEVICE_HOST_COPY.",
  });
}
