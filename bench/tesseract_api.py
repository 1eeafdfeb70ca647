# SPDX-License-Identifier: Apache-2.0
"""The identity of one float64 array, so that a call is nothing but the passing of arrays."""

from pydantic import BaseModel

from tesseract_core.runtime import Array, Float64


class InputSchema(BaseModel):
    x: Array[(None,), Float64]


class OutputSchema(BaseModel):
    y: Array[(None,), Float64]


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(y=inputs.x)
