"""y = x rotated to the left by `by` places, by a library of the GPU; without one, y = x as it came."""

import os
from typing import Literal

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

from pydantic import BaseModel  # noqa: E402
from tesseract_core.runtime import Array, Differentiable  # noqa: E402

Vector = Differentiable[Array[(None,), "float64"]]
Library = Literal["none", "cupy", "torch", "jax"]


class InputSchema(BaseModel):
    x: Vector
    by: int = 0
    library: Library = "none"


class OutputSchema(BaseModel):
    y: Vector


def rotated(x, by: int, library: Library):
    if library == "cupy":
        import cupy

        return cupy.roll(cupy.asarray(x), -by)
    if library == "torch":
        import torch

        return torch.roll(torch.from_dlpack(x), -by)
    if library == "jax":
        import jax

        jax.config.update("jax_enable_x64", True)
        return jax.numpy.roll(jax.dlpack.from_dlpack(x), -by)
    return x


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=rotated(inputs.x, inputs.by, inputs.library))


def vector_jacobian_product(inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector):
    return {"x": rotated(cotangent_vector["y"], -inputs.by, inputs.library)}
