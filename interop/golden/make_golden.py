# SPDX-License-Identifier: Apache-2.0
"""Writes the golden files, with the encoders and the server of the installed reference runtime.

    .venv/bin/python interop/golden/make_golden.py [--only vectors|answers] [--out DIRECTORY]

Vectors (from runtime 1.15): `vectors/<encoding>.json`, an array with one entry a line,

    {"name", "dtype", "shape", "hex": the true values' bytes, C order, little endian, "encoded": what the runtime wrote}

with `encoded` last and byte for byte as it stood in the response. The files that the binref entries name are relative
to `vectors/`.

Answers (from any runtime): `answers/<version>.json`, an array of

    {"name", "request": {"method", "path", "headers", "body"}, "status", "headers", "body"}

with bodies as text, from the fixture `vectors`; and its OpenAPI document in `answers/openapi-<version>.json`.
"""

import argparse
import http.client
import importlib.metadata
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import orjson
from pydantic import create_model

from tesseract_core.runtime import Array
from tesseract_core.runtime.file_interactions import output_to_bytes

HERE = Path(__file__).resolve().parent
VERSION = ".".join(importlib.metadata.version("tesseract-core").split(".")[:2])

ENCODINGS = {
    "json": ("json", None),
    "base64": ("json+base64", None),
    "base64-lz4": ("json+base64", "lz4"),
    "binref": ("json+binref", None),
    "binref-lz4": ("json+binref", "lz4"),
}

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
DTYPES = (*FLOATS, *INTEGERS, "bool", *COMPLEX)


def random_array(rng, dtype, shape):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if dtype in COMPLEX:
        return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)
    return np.asarray(rng.normal(size=shape), dtype=dtype)


def special_values(dtype):
    """The values at a dtype's edges, and those that an encoder may spoil."""
    if dtype == "bool":
        return np.array([True, False, True])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        beyond_double = [value for value in (2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1) if value <= info.max]
        return np.array([info.min, 0, 1, *beyond_double, info.max - 1, info.max], dtype=dtype)
    part = np.dtype(dtype).type(0).real.dtype
    info = np.finfo(part)
    edges = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.1, 1e4, info.max, info.min, info.tiny, info.smallest_subnormal]
    if dtype in FLOATS:
        return np.array(edges, dtype=dtype)
    values = np.zeros((len(edges), 2), dtype=part)
    values[:, 0] = edges
    values[:, 1] = edges[::-1]
    extra = np.array([[1, 2], [1, -2], [-1, 0], [0, 1], [0, -1], [-0.0, 3], [1e-7, 1e20], [np.nan, 1], [1, np.nan]])
    return np.concatenate([values, extra.astype(part)]).view(dtype).reshape(-1)


def arrays(compression):
    rng = np.random.default_rng(20240229)
    made = {}
    for dtype in DTYPES:
        made[f"{dtype} scalar"] = random_array(rng, dtype, ())
        made[f"{dtype} vector"] = random_array(rng, dtype, (5,))
        made[f"{dtype} matrix"] = random_array(rng, dtype, (2, 3))
        made[f"{dtype} empty"] = np.zeros((0, 3), dtype=dtype)
        made[f"{dtype} special"] = special_values(dtype)
    made["float32 rank 5"] = random_array(rng, "float32", (1, 2, 1, 3, 2))
    if compression:
        # More than one LZ4 block of 64 KiB, with matches that reach back across them.
        made["uint8 blocks"] = np.tile(np.arange(251, dtype="uint8"), 300)
    return made


def little_endian_hex(array):
    array = np.asarray(array)
    return array.astype(array.dtype.newbyteorder("<")).tobytes(order="C").hex()


def write_vectors(directory):
    run = directory / "run_golden"
    run.mkdir(parents=True, exist_ok=True)
    for encoding, (output_format, compression) in ENCODINGS.items():
        values = arrays(compression)
        # One response with them all, so that the binref entries share a file.
        fields = {f"a{index}": (Array[..., None], ...) for index in range(len(values))}
        model = create_model("Vectors", **fields)(**dict(zip(fields, values.values(), strict=True)))
        before = set(run.iterdir())
        body = output_to_bytes(
            model, output_format, base_dir=directory, binref_dir="run_golden", compression=compression
        )
        for file in set(run.iterdir()) - before:
            # The runtime names it by a random UUID.
            body = body.replace(file.stem.encode(), encoding.encode())
            file.replace(run / f"{encoding}.bin")
        decoded = orjson.loads(body)
        if orjson.dumps(decoded) != body:
            raise RuntimeError(f"The {encoding} response doesn't survive being taken apart.")
        lines = []
        for field, (name, array) in zip(fields, values.items(), strict=True):
            head = {
                "name": name,
                "dtype": str(array.dtype),
                "shape": list(array.shape),
                "hex": little_endian_hex(array),
            }
            lines.append(orjson.dumps(head)[:-1] + b',"encoded":' + orjson.dumps(decoded[field]) + b"}")
        (directory / f"{encoding}.json").write_bytes(b"[\n" + b",\n".join(lines) + b"\n]\n")


def array(buffer, dtype="float64", shape=None):
    shape = list(np.shape(buffer)) if shape is None else shape
    return {"shape": shape, "dtype": dtype, "data": {"encoding": "json", "buffer": buffer}}


INPUTS = {
    "x": array([1.0, 2.0]),
    "affine": {"matrix": array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), "shift": array([0.5, 0.25, 0.125])},
    "gain": array(2.0),
    "terms": [array([1.0, -1.0])],
    "weights": {"a b": array([0.5, 0.1], "float32")},
}
JACOBIAN = {"inputs": INPUTS, "jac_inputs": ["x", "affine.shift"], "jac_outputs": ["y"]}

# name, method, path, Accept, body
REQUESTS = [
    ("health", "GET", "/health", "application/json", None),
    ("apply", "POST", "/apply", "application/json", {"inputs": INPUTS}),
    ("apply base64", "POST", "/apply", "application/json+base64", {"inputs": INPUTS}),
    ("jacobian of one input", "POST", "/jacobian", "application/json", {**JACOBIAN, "jac_inputs": ["x"]}),
    ("invalid body", "POST", "/apply", "application/json", {"inputs": {**INPUTS, "x": "abc", "zz": 1}}),
    ("unknown path", "POST", "/jacobian", "application/json", {**JACOBIAN, "jac_inputs": ["nope"]}),
    ("empty body", "POST", "/apply", "application/json", None),
    ("malformed body", "POST", "/apply", "application/json", "{nope"),
    ("not UTF-8", "POST", "/apply", "application/json", b'{"inputs": "\xff"}'),
    ("unacceptable", "POST", "/apply", "application/xml", {"inputs": INPUTS}),
    ("unknown endpoint", "POST", "/nope", "application/json", {}),
    ("wrong method", "GET", "/apply", "application/json", None),
    ("exception", "POST", "/jacobian", "application/json", {**JACOBIAN, "jac_outputs": ["products.[7]"]}),
]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(port, method, path, accept, body):
    headers = {"Accept": accept}
    if body is not None:
        headers["Content-Type"] = "application/json"
        if isinstance(body, dict):
            body = json.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        answered = {name.lower(): value for name, value in response.getheaders()}
        for name in ("date", "server"):
            answered.pop(name, None)
        sent = body.decode("latin-1") if isinstance(body, bytes) else body
        return {
            "request": {"method": method, "path": path, "headers": headers, "body": sent},
            "status": response.status,
            "headers": answered,
            "body": response.read().decode(),
        }
    finally:
        connection.close()


def wait_for(port, process):
    for _ in range(600):
        if process.poll() is not None:
            break
        try:
            return ask(port, "GET", "/health", "*/*", None)
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"The server didn't start (status {process.poll()}).")


def write_answers(directory):
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TESSERACT_")}
        process = subprocess.Popen(
            [Path(sys.executable).parent / "tesseract-runtime", "serve", "--port", str(port)],
            cwd=folder,
            env={**environment, "TESSERACT_API_PATH": str(HERE.parent / "fixtures" / "vectors" / "tesseract_api.py")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_for(port, process)
            answers = [{"name": name, **ask(port, *request)} for name, *request in REQUESTS]
            openapi = ask(port, "GET", "/openapi.json", "*/*", None)
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait()
    lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in answers)
    (directory / f"{VERSION}.json").write_text(f"[\n{lines}\n]\n")
    (directory / f"openapi-{VERSION}.json").write_text(openapi["body"] + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["vectors", "answers"])
    parser.add_argument("--out", type=Path, default=HERE)
    options = parser.parse_args()
    if options.only != "answers" and VERSION == "1.15":
        write_vectors(options.out / "vectors")
    if options.only != "vectors":
        write_answers(options.out / "answers")


main()
