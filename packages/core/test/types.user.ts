/**
 * A user's program, with nothing but `strict` set, against what is built:
 * `npx tsc -p packages/core/test/tsconfig.user.json`, after `npm run build`.
 */
import { type DType, fromUrl, type HostArray, hostArray, TesseractError, toNestedList } from "@tesseract-ts/core";
import { base64, host } from "@tesseract-ts/transport-host";

export async function call(): Promise<[readonly number[], number]> {
  await using heat = await fromUrl("http://localhost:8000", { transports: [host()] });
  const { temperature } = await heat.apply({ source: new Float64Array(100), steps: 50 });
  temperature.shape; // [100]
  temperature.data; // Float64Array
  return [temperature.shape, temperature.data.length];
}

interface Heat {
  inputs: { source: HostArray<"float64"> | Float64Array; steps: number };
  outputs: { temperature: HostArray<"float64"> };
}

export async function typed(): Promise<number> {
  const heat = await fromUrl<Heat>("http://localhost:8000", {
    transports: [base64()],
    compression: "lz4",
    timeout: 5_000,
    onWarning: ({ code, message }) => console.warn(code, message),
  });
  try {
    const { temperature } = await heat
      .withEncoding({ compression: "none" })
      .apply({ source: hostArray([1, 2], { dtype: "float64" }), steps: 1 });
    return temperature.data[0];
  } catch (error) {
    if (error instanceof TesseractError && error.code === "VALIDATION_FAILED") console.error(error.issues[0].message);
    throw error;
  } finally {
    await heat.close();
  }
}

export function first(array: HostArray): number | bigint | undefined {
  if (array.dtype === "int64") return array.data.reduce((total, entry) => total + entry, 0n);
  if (array.dtype === "float64") return array.data.reduce((total, entry) => total + entry, 0);
  return array.data[0];
}

export const dtypeOf = ({ dtype }: HostArray): DType => dtype;
export const nested = (array: HostArray): string => JSON.stringify(toNestedList(array));
