"""Hands arrays of every dtype and any shape back as they came, and tells which device each was on."""

from pydantic import BaseModel
from tesseract_core.runtime import Array


class Arrays(BaseModel):
    float16: Array[..., "float16"] | None = None
    float32: Array[..., "float32"] | None = None
    float64: Array[..., "float64"] | None = None
    int8: Array[..., "int8"] | None = None
    int16: Array[..., "int16"] | None = None
    int32: Array[..., "int32"] | None = None
    int64: Array[..., "int64"] | None = None
    uint8: Array[..., "uint8"] | None = None
    uint16: Array[..., "uint16"] | None = None
    uint32: Array[..., "uint32"] | None = None
    uint64: Array[..., "uint64"] | None = None
    bool: Array[..., "bool"] | None = None
    complex64: Array[..., "complex64"] | None = None
    complex128: Array[..., "complex128"] | None = None


class InputSchema(Arrays):
    pass


class OutputSchema(Arrays):
    devices: dict[str, int]


def apply(inputs: InputSchema) -> OutputSchema:
    arrays = inputs.model_dump(exclude_unset=True)
    return OutputSchema(**arrays, devices={name: array.device for name, array in arrays.items()})
