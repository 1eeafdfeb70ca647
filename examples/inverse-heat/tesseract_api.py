# SPDX-License-Identifier: Apache-2.0
"""Heat conduction in a square plate whose edges are kept at 0, by explicit steps in time.

    dT/dt = conductivity * laplace(T) + source,  T = 0 in the beginning

The temperature is linear in the source, and the discrete Laplacian is symmetric, so the product with a tangent and the one
with a cotangent are both a simulation of their own.
"""

import numpy as np
from pydantic import BaseModel, Field

from tesseract_core.runtime import Array, Differentiable, ShapeDType

Plate = Array[(None, None), "float64"]


class InputSchema(BaseModel):
    source: Differentiable[Plate]  # (n, n)
    conductivity: float = 1.0
    steps: int = Field(default=60, ge=1, le=100_000)
    dt: float = 0.2  # stable up to 0.25 / conductivity, with a distance of 1 between points


class OutputSchema(BaseModel):
    temperature: Differentiable[Plate]


def laplace(field):
    padded = np.pad(field, 1)
    return padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * field


def simulate(source, inputs):
    temperature = np.zeros_like(source)
    for _ in range(inputs.steps):
        temperature = temperature + inputs.dt * (inputs.conductivity * laplace(temperature) + source)
    return temperature


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(temperature=simulate(inputs.source, inputs))


def abstract_eval(abstract_inputs):
    return {"temperature": ShapeDType(shape=abstract_inputs.source.shape, dtype="float64")}


def jacobian_vector_product(inputs: InputSchema, jvp_inputs: set[str], jvp_outputs: set[str], tangent_vector):
    return {"temperature": simulate(tangent_vector["source"], inputs)}


def vector_jacobian_product(inputs: InputSchema, vjp_inputs: set[str], vjp_outputs: set[str], cotangent_vector):
    return {"source": simulate(cotangent_vector["temperature"], inputs)}
