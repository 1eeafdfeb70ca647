"""The reference's client, on the GPU arrays of one scenario. Prints, as JSON, what it copied from and to the host itself.

    python client.py URL SCENARIO
"""

import json
import sys

import numpy as np
from device_memory import downloaded, downloads, empty, ordinal_of, pointer_of, uploaded, uploads
from tesseract_core import Tesseract
from tesseract_core.runtime.cuda import api

DTYPES = (
    "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128"
).split()


def random(shape: tuple, dtype: str) -> np.ndarray:
    """Any bits that the dtype has: NaNs and infinities, too."""
    dtype = np.dtype(dtype)
    generator = np.random.default_rng(len(dtype.name))
    if dtype == np.bool_:
        return generator.integers(0, 2, shape).astype(np.bool_)
    size = int(np.prod(shape)) * dtype.itemsize
    return np.frombuffer(generator.bytes(size), dtype=dtype).reshape(shape)


def expect(result: object, values: np.ndarray, device: int = 0) -> None:
    assert hasattr(result, "__cuda_array_interface__"), "the result left the device"
    assert result.device == device, f"on device {result.device}, not {device}"
    if values.nbytes > 0:
        assert ordinal_of(pointer_of(result)) == device
    host = downloaded(result)
    assert host.dtype == values.dtype and host.shape == values.shape, (host.dtype, host.shape)
    assert host.tobytes() == values.tobytes(), f"other bytes, {values.dtype} {values.shape}"


def endpoints(tesseract: object) -> None:
    x, other = np.random.default_rng(1).random((2, 1000))
    inputs = {"x": uploaded(x), "by": 300}
    expect(tesseract.apply(inputs)["y"], np.roll(x, -300))
    jacobian = tesseract.jacobian({"x": uploaded(x[:40]), "by": 3}, ["x"], ["y"])
    expect(jacobian["y"]["x"], np.roll(np.eye(40), 3, axis=1))
    tangents = {"x": uploaded(other)}
    expect(tesseract.jacobian_vector_product(inputs, ["x"], ["y"], tangents)["y"], np.roll(other, -300))
    cotangents = {"y": uploaded(other)}
    expect(tesseract.vector_jacobian_product(inputs, ["x"], ["y"], cotangents)["x"], np.roll(other, 300))
    abstract = tesseract.abstract_eval({"x": {"shape": [1000], "dtype": "float64"}, "by": 300})
    assert abstract == {"y": {"shape": [1000], "dtype": "float64"}}, abstract


def dtypes(tesseract: object) -> None:
    for shape, before in [((), 0), ((7,), 0), ((3, 5), 256), ((2, 1, 3, 2), 4096)]:
        arrays = {name: random(shape, name) for name in DTYPES}
        results = tesseract.apply({name: uploaded(each, before=before) for name, each in arrays.items()})
        for name, each in arrays.items():
            expect(results[name], each)


def empties(tesseract: object) -> None:
    for shape in [(0,), (0, 3), (2, 0, 4)]:
        arrays = {name: np.empty(shape, name) for name in DTYPES}
        results = tesseract.apply({name: empty(shape, each.dtype) for name, each in arrays.items()})
        for name, each in arrays.items():
            expect(results[name], each)
    # Beside one that isn't empty.
    values = random((5,), "float32")
    results = tesseract.apply({"float32": uploaded(values), "float64": empty((0,), np.dtype("float64"))})
    expect(results["float32"], values)
    expect(results["float64"], np.empty(0))


def devices(tesseract: object) -> None:
    """An array on each of two devices in one message, however the two sides number them."""
    first, second = random((100,), "float32"), random((200,), "int64")
    results = tesseract.apply({"float32": uploaded(first, device=0), "int64": uploaded(second, device=1)})
    expect(results["float32"], first, device=0)
    expect(results["int64"], second, device=1)
    print(json.dumps({"served": results["devices"], "uuids": [api.device_uuid(device) for device in (0, 1)]}))


def kinds(tesseract: object) -> None:
    """Memory without legacy handles, from this side and from the server's."""
    x = np.random.default_rng(2).random(5000)
    for memory in ("virtual", "pool"):
        for before in (0, 4096):
            array = uploaded(x, memory=memory, before=before)
            expect(tesseract.apply({"x": array, "by": 7, "memory": memory})["y"], np.roll(x, -7))


if __name__ == "__main__":
    url, scenario = sys.argv[1:]
    with Tesseract.from_url(url) as served:
        view = served.with_encoding(gpu_transport="cuda_ipc")
        assert view.resolve_gpu_transport() == "cuda_ipc"
        globals()[scenario](view)
    print(json.dumps({"uploads": uploads, "downloads": downloads}))
