# SPDX-License-Identifier: Apache-2.0
"""Calls every endpoint of the fixture `vectors` by the reference client, in every encoding, and prints what came.

    drive-vectors.py URL INPUT_DIR OUTPUT_DIR
"""

import json
import sys

import numpy as np
from pydantic import ValidationError
from tesseract_core import Tesseract
from tesseract_core.sdk.tesseract import HTTPClient

INPUTS = {
    "x": np.array([1.5, -2.0, 3.25]),
    "affine": {"matrix": np.arange(6.0).reshape(2, 3), "shift": np.array([0.5, -0.5])},
    "gain": 2.0,
    "terms": [np.array([1.0, 2.0, 3.0]), np.array([0.0, -1.0, 1.0])],
    "weights": {"a": np.array([1, 2, 3], dtype="float32"), "b c": np.ones(3, dtype="float32")},
}
PATHS_IN = ["x", "affine.matrix", "gain", "terms.[1]", "weights.{b c}"]
PATHS_OUT = ["y", "stats.norm2", "products.[1]", "scaled.{b c}"]


def printable(value):
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.asarray(value)
        return {"dtype": array.dtype.name, "shape": list(array.shape), "hex": array.tobytes().hex()}
    if isinstance(value, dict):
        return {key: printable(value[key]) for key in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [printable(item) for item in value]
    return value


def outcome(work):
    try:
        return printable(work())
    except ValidationError as error:
        return [[list(each["loc"]), each["type"]] for each in error.errors()]
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]


def calls(tess):
    """Every endpoint; and requests that are refused, and how the client tells."""
    out = tess.apply(INPUTS)
    at = {
        "x": INPUTS["x"],
        "affine.matrix": INPUTS["affine"]["matrix"],
        "gain": np.float64(1.0),
        "terms.[1]": INPUTS["terms"][1],
        "weights.{b c}": INPUTS["weights"]["b c"],
    }
    cotangents = {
        "y": out["y"],
        "stats.norm2": np.float64(0.5),
        "products.[1]": np.arange(3.0),
        "scaled.{b c}": np.arange(3, dtype="float32"),
    }
    return {
        "apply": outcome(lambda: out),
        "apply of empty arrays": outcome(
            lambda: tess.apply({"x": np.zeros(0), "affine": {"matrix": np.zeros((0, 0)), "shift": np.zeros(0)}})
        ),
        "abstract_eval": outcome(lambda: tess.abstract_eval(INPUTS)),
        "jacobian": outcome(lambda: tess.jacobian(INPUTS, PATHS_IN, PATHS_OUT)),
        "jacobian_vector_product": outcome(lambda: tess.jacobian_vector_product(INPUTS, PATHS_IN, PATHS_OUT, at)),
        "vector_jacobian_product": outcome(
            lambda: tess.vector_jacobian_product(INPUTS, PATHS_IN, PATHS_OUT, cotangents)
        ),
        "a missing member": outcome(lambda: tess.apply({"x": INPUTS["x"]})),
        "a member too many": outcome(lambda: tess.apply({**INPUTS, "z": 1})),
        "a wrong rank": outcome(lambda: tess.apply({**INPUTS, "x": np.zeros((2, 2))})),
        "a wrong dtype": outcome(lambda: tess.apply({**INPUTS, "x": np.array([1 + 2j])})),
        "an unknown path": outcome(lambda: tess.jacobian(INPUTS, ["nothing"], ["y"])),
        "tangents that are missing": outcome(lambda: tess.jacobian_vector_product(INPUTS, ["x"], ["y"], {})),
    }


def main(url, input_path, output_path):
    tess = Tesseract.from_url(url, server_output_path=output_path)
    result = {
        "endpoints": sorted(tess.available_endpoints),
        "health": tess.health(),
        "capabilities": printable(
            [list(tess.server_capabilities.output_formats), list(tess.server_capabilities.gpu_transports)]
        ),
        "gpu transport": tess.resolve_gpu_transport(),
        "default": calls(tess),
    }
    for output_format in ("json", "json+base64", "json+binref"):
        for compression in ("none", "lz4"):
            view = tess.with_encoding(output_format=output_format, compression=compression)
            result[f"{output_format} {compression}"] = calls(view)
    # What the client of a Tesseract that it started itself does: inputs in files, too.
    with_files = Tesseract.from_url(url, server_output_path=output_path)
    with_files._client = HTTPClient(url, output_path=output_path, input_path=input_path)
    result["inputs in files"] = calls(with_files.with_encoding(output_format="json+binref"))
    result["an encoding that isn't there"] = outcome(lambda: tess.with_encoding(gpu_transport="cuda_ipc").apply(INPUTS))
    if "test" in tess.available_endpoints:
        spec = {"endpoint": "apply", "payload": {"inputs": INPUTS}}
        good = {**spec, "expected_outputs": tess.apply(INPUTS)}
        bad = {**spec, "expected_outputs": {**tess.apply(INPUTS), "rows": 7}}
        result["test"] = [outcome(lambda: tess.test(good)), outcome(lambda: tess.test(bad))[0]]
    json.dump(result, sys.stdout)


main(*sys.argv[1:])
