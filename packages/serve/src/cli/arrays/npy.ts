/** Writes arrays as NumPy's .npy files (format version 1.0: numpy.org/doc/stable/reference/generated/numpy.lib.format.html). */
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { bytesOf, type DType, type HostArray } from "@tesseract-ts/core";

const descriptors: Readonly<Record<DType, string>> = {
  float16: "<f2",
  float32: "<f4",
  float64: "<f8",
  int8: "|i1",
  int16: "<i2",
  int32: "<i4",
  int64: "<i8",
  uint8: "|u1",
  uint16: "<u2",
  uint32: "<u4",
  uint64: "<u8",
  bool: "|b1",
  complex64: "<c8",
  complex128: "<c16",
};

/** What stands before the elements: magic, version, and a Python dict; a multiple of 64 bytes. */
export function npyHeader({ dtype, shape }: Pick<HostArray, "dtype" | "shape">): Buffer {
  const sizes = shape.length === 1 ? `${shape[0]},` : shape.join(", ");
  const dict = `{'descr': '${descriptors[dtype]}', 'fortran_order': False, 'shape': (${sizes}), }`;
  const length = Math.ceil((10 + dict.length + 1) / 64) * 64 - 10;
  const header = Buffer.alloc(10 + length, " ");
  header.write("\u0093NUMPY\u0001\u0000", 0, "latin1");
  header.writeUInt16LE(length, 8);
  header.write(dict, 10, "latin1");
  header.write("\n", 9 + length, "latin1");
  return header;
}

export async function writeNpy(path: string, array: HostArray): Promise<void> {
  const file = await open(path, "w");
  try {
    await file.writeFile(npyHeader(array));
    await file.writeFile(bytesOf(array));
  } finally {
    await file.close();
  }
}

/** Where each array goes; names that the file system couldn't tell apart get a number. */
export function npyNames(paths: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return paths.map((path) => {
    // Paths come from the Tesseract: nothing in them may leave the folder.
    const safe =
      path
        .replaceAll(/[^\p{L}\p{N}._-]+/gu, "_")
        .replace(/^\.+/, "")
        .slice(0, 120) || "result";
    let name = safe;
    for (let count = 2; taken.has(name.toLowerCase()); count++) name = `${safe}-${count}`;
    taken.add(name.toLowerCase());
    return `${name}.npy`;
  });
}

/** @returns the files, in the order of the arrays */
export async function writeArrays(
  folder: string,
  arrays: readonly { readonly path: string; readonly array: HostArray }[],
): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const files = npyNames(arrays.map(({ path }) => path)).map((name) => join(folder, name));
  for (const [index, { array }] of arrays.entries()) await writeNpy(files[index] ?? "", array);
  return files;
}
