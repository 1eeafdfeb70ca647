"""y = x, rotated to the left by `by` places. A permutation needs no kernel: copies on the device do."""

import ctypes
import sys
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import BaseModel
from tesseract_core.runtime import Array, Differentiable, ShapeDType
from tesseract_core.runtime.cuda import api

sys.path.insert(0, str(Path(__file__).parent.parent))

from device_memory import empty, pointer_of, uploaded  # noqa: E402

Vector = Differentiable[Array[(None,), "float64"]]
BYTES = 8


class InputSchema(BaseModel):
    x: Vector
    by: int = 1
    memory: Literal["plain", "virtual", "pool"] = "plain"


class OutputSchema(BaseModel):
    y: Vector


def rotated(x, by: int, memory: str):
    (n,) = x.shape
    by %= n
    y = empty((n,), x.dtype, x.device, memory)
    source, target = pointer_of(x), pointer_of(y)
    api.memcpy_device_to_device(target, source + by * BYTES, (n - by) * BYTES)
    api.memcpy_device_to_device(target + (n - by) * BYTES, source, by * BYTES)
    return y


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=rotated(inputs.x, inputs.by, inputs.memory))


def abstract_eval(abstract_inputs):
    return {"y": ShapeDType(shape=abstract_inputs.x.shape, dtype="float64")}


def jacobian(inputs: InputSchema, jac_inputs: set[str], jac_outputs: set[str]):
    (n,) = inputs.x.shape
    one = uploaded(np.ones(1), device=inputs.x.device)  # a constant; nothing of the inputs
    matrix = empty((n, n), np.dtype("float64"), inputs.x.device)
    pointer = pointer_of(matrix)
    cudart = api._get_cudart()
    assert cudart.cudaMemset(ctypes.c_void_p(pointer), 0, ctypes.c_size_t(n * n * BYTES)) == 0
    for row in range(n):
        column = (row + inputs.by) % n
        api.memcpy_device_to_device(pointer + (row * n + column) * BYTES, pointer_of(one), BYTES)
    api.device_synchronize()  # before `one` is let go of
    return {"y": {"x": matrix}}


def jacobian_vector_product(inputs: InputSchema, jvp_inputs: set[str], jvp_outputs: set[str], tangent_vector):
    return {"y": rotated(tangent_vector["x"], inputs.by, inputs.memory)}


def vector_jacobian_product(inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector):
    return {"x": rotated(cotangent_vector["y"], -inputs.by, inputs.memory)}
