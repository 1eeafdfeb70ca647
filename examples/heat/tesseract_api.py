# SPDX-License-Identifier: Apache-2.0
"""Heat in a rod whose ends are kept at 0, and exact derivatives of it. The rod starts at 0 everywhere.

Explicit finite differences in time and space, with the distance between points as the unit of length:

    T[n+1] = T[n] + dt * (conductivity * laplacian(T[n]) + source)

T is linear in the source, so its tangents follow the same rule; cotangents follow its transpose, backwards in time.
"""

import numpy as np
from pydantic import BaseModel, Field

from tesseract_core.runtime import Array, Differentiable, Float64, ShapeDType

Rod = Array[(None,), "float64"]  # one value for each point, (n,)


class InputSchema(BaseModel):
    source: Differentiable[Rod] = Field(description="Heat added at each point, per unit of time.")
    conductivity: Differentiable[Float64] = Field(default=0.25, description="How fast heat spreads.")
    steps: int = Field(default=100, ge=0, description="How many steps in time to take.")
    dt: float = Field(default=1.0, gt=0, description="How long a step is: conductivity * dt can be 0.5 at most.")


class OutputSchema(BaseModel):
    temperature: Differentiable[Rod] = Field(description="The temperature at each point after the last step.")
    total: Differentiable[Float64] = Field(description="The heat in the rod: the sum of its temperatures.")


def laplacian(values):
    """The second difference, (n,) -> (n,), with zeros beyond both ends. It is its own transpose."""
    padded = np.pad(values, 1)
    return padded[:-2] - 2 * values + padded[2:]


def temperatures(inputs: InputSchema):
    """The temperature before each step, and after the last."""
    if not 0 <= inputs.conductivity * inputs.dt <= 0.5:
        raise ValueError("conductivity * dt must be from 0 to 0.5, or the steps grow without bound")
    temperature = np.zeros_like(inputs.source)
    yield temperature
    for _ in range(inputs.steps):
        temperature = temperature + inputs.dt * (inputs.conductivity * laplacian(temperature) + inputs.source)
        yield temperature


def apply(inputs: InputSchema) -> OutputSchema:
    for temperature in temperatures(inputs):
        pass
    return OutputSchema(temperature=temperature, total=temperature.sum())


def jacobian_vector_product(inputs: InputSchema, jvp_inputs, jvp_outputs, tangent_vector):
    source = tangent_vector.get("source", 0.0)
    conductivity = tangent_vector.get("conductivity", 0.0)
    tangent = np.zeros_like(inputs.source)
    *before, _ = temperatures(inputs)
    for temperature in before:
        spread = inputs.conductivity * laplacian(tangent) + conductivity * laplacian(temperature)
        tangent = tangent + inputs.dt * (spread + source)
    tangents = {"temperature": tangent, "total": tangent.sum()}
    return {path: tangents[path] for path in jvp_outputs}


def vector_jacobian_product(inputs: InputSchema, vjp_inputs, vjp_outputs, cotangent_vector):
    source = np.zeros_like(inputs.source)
    conductivity = np.float64(0.0)
    cotangent = source + cotangent_vector.get("temperature", 0.0) + cotangent_vector.get("total", 0.0)
    *before, _ = temperatures(inputs)
    for temperature in reversed(before):
        source = source + inputs.dt * cotangent
        conductivity = conductivity + inputs.dt * (cotangent @ laplacian(temperature))
        cotangent = cotangent + inputs.dt * inputs.conductivity * laplacian(cotangent)
    cotangents = {"source": source, "conductivity": conductivity}
    return {path: cotangents[path] for path in vjp_inputs}


def abstract_eval(abstract_inputs):
    return {
        "temperature": ShapeDType(shape=abstract_inputs.source.shape, dtype="float64"),
        "total": ShapeDType(shape=(), dtype="float64"),
    }
