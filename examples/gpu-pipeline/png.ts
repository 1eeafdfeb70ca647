// A field as a PNG (https://www.w3.org/TR/png-3/) of 256 colors, one pixel for each value.

import { crc32, deflateSync } from "node:zlib";

/** From dark violet to light yellow. */
const STOPS = [
  [24, 15, 62],
  [114, 31, 129],
  [205, 64, 113],
  [253, 150, 104],
  [252, 253, 191],
] as const;

/** @param values (n, width) in C order, from 0 to `most` */
export function pngOf(values: Float32Array, width: number, most: number): Buffer {
  const height = values.length / width;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // 8 bits each, by a palette
  // Each row begins with its filter: none.
  const rows = Buffer.alloc(height * (width + 1));
  values.forEach((value, i) => {
    rows[Math.floor(i / width) * (width + 1) + 1 + (i % width)] = Math.round(
      Math.max(0, Math.min(1, value / most)) * 255,
    );
  });
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk("IHDR", header),
    chunk("PLTE", palette()),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function palette(): Buffer {
  const colors = Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (STOPS.length - 1);
    const from = Math.min(STOPS.length - 2, Math.floor(at));
    return [0, 1, 2].map((channel) => {
      const [low, high] = [STOPS[from]?.[channel] ?? 0, STOPS[from + 1]?.[channel] ?? 0];
      return Math.round(low + (at - from) * (high - low));
    });
  });
  return Buffer.from(colors.flat());
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
