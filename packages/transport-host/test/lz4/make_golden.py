"""Writes golden.json, beside this file: frames made by Python's lz4 package, and what they hold.

Needs `pip install lz4`. A content is a list of parts, each some bytes in base64 and how often they are repeated.
"""

import base64
import json
import os
import random
import struct
from pathlib import Path

import lz4.frame as lz4f

rng = random.Random(20240229)
HERE = Path(__file__).resolve().parent


def noise(length):
    return rng.randbytes(length)


def b64(data):
    return base64.b64encode(data).decode()


def content_of(parts):
    return b"".join(data * times for data, times in parts)


cases = []


def add(name, parts, frame, several=False):
    content = content_of(parts)
    # Python's own decompressor passes over what follows the first frame, so several frames are not asked of it.
    if not several:
        assert lz4f.decompress(frame) == content, name
    cases.append(
        {"name": name, "content": [{"base64": b64(d), "repeat": n} for d, n in parts], "frame": b64(frame)}
    )


text = b"The quick brown fox jumps over the lazy dog; " + bytes(range(256))
doubles = struct.pack("<64d", *(i * 0.25 for i in range(64)))
unit = noise(1000)

add("default", [(text, 20)], lz4f.compress(text * 20))
add("empty", [], lz4f.compress(b""))
add("empty, no content size", [], lz4f.compress(b"", store_size=False))
add("empty, content checksum", [], lz4f.compress(b"", content_checksum=True))
for length in (1, 4, 5, 12, 13, 16, 17):
    data = noise(length)
    add(f"{length} bytes", [(data, 1)], lz4f.compress(data))
add("stored block", [(unit, 1)], lz4f.compress(unit))
add(
    "stored block, all checksums",
    [(unit, 1)],
    lz4f.compress(unit, content_checksum=True, block_checksum=True, store_size=False),
)

# Matches that reach into earlier blocks, where blocks are linked.
mixed = [(unit, 200), (doubles, 100), (b"\0", 70_000), (b"ab", 3_000), (b"xyz", 3_000)]
for linked in (True, False):
    for block_checksum in (False, True):
        for content_checksum in (False, True):
            for store_size in (False, True):
                options = {
                    "block_linked": linked,
                    "block_checksum": block_checksum,
                    "content_checksum": content_checksum,
                    "store_size": store_size,
                }
                name = ", ".join(k if v else "no " + k for k, v in options.items())
                if linked and block_checksum and content_checksum or not (block_checksum or content_checksum):
                    data = content_of(mixed)
                    add(name, mixed, lz4f.compress(data, block_size=lz4f.BLOCKSIZE_MAX64KB, **options))
                else:
                    add(name, [(text, 20)], lz4f.compress(text * 20, **options))

for size, name, length in (
    (lz4f.BLOCKSIZE_MAX64KB, "64 KB", 150_000),
    (lz4f.BLOCKSIZE_MAX256KB, "256 KB", 600_000),
    (lz4f.BLOCKSIZE_MAX1MB, "1 MB", 1_500_000),
    (lz4f.BLOCKSIZE_MAX4MB, "4 MB", 4_500_000),
):
    parts = [(unit[:100], 10), (b"\x07", length)]
    add(f"blocks of {name}", parts, lz4f.compress(content_of(parts), block_size=size, content_checksum=True))

for level in (-5, 3, 12):
    parts = [(text, 50), (doubles, 20)]
    add(f"level {level}", parts, lz4f.compress(content_of(parts), compression_level=level))

# A block for every call: stored ones between compressed ones, and matches that reach into the stored.
for linked in (True, False):
    for checksums in (True, False):
        with lz4f.LZ4FrameCompressor(
            block_linked=linked, block_checksum=checksums, content_checksum=checksums, auto_flush=True
        ) as compressor:
            frame = compressor.begin()
            for chunk in (unit, text * 3, unit, b"", unit + unit, text):
                frame += compressor.compress(chunk)
            frame += compressor.flush()
        parts = [(unit, 1), (text, 3), (unit, 3), (text, 1)]
        add(f"small blocks, {'linked' if linked else 'independent'}, checksums {checksums}", parts, frame)

skippable = struct.pack("<II", 0x184D2A5F, 5) + b"hello"
one = lz4f.compress(text, content_checksum=True)
two = lz4f.compress(doubles, store_size=False)
add("a skippable frame before", [(text, 1)], skippable + one, several=True)
add("skippable frames around", [(text, 1)], skippable + skippable + one + skippable, several=True)
add("two frames", [(text, 1), (doubles, 1)], one + two, several=True)
add("frames and skippable frames", [(doubles, 1), (text, 2)], two + skippable + one + one, several=True)

with open(HERE / "golden.json", "w", encoding="utf-8") as file:
    json.dump(cases, file, indent=1)
    file.write("\n")
print(f"{len(cases)} cases, {os.path.getsize(HERE / 'golden.json')} bytes")
